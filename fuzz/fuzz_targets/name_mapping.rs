#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    iceberg_fuzz::run("name_mapping", input);
});
