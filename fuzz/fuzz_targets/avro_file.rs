#![no_main]

libfuzzer_sys::fuzz_target!(
    // The reader makes errors of panics; only one that it lets through may end the program.
    init: std::panic::set_hook(Box::new(|_| ())),
    |input: &[u8]| {
        iceberg_fuzz::run("avro_file", input);
    }
);
