//! `option-tables FILE` writes the option tables between the file's marks;
//! `option-tables --check FILE` fails when they are not what stands there.

use std::process::ExitCode;

use option_tables::{BEGIN, END, with_tables};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (check, file) = match arguments.as_slice() {
        [file] => (false, file),
        [flag, file] if flag == "--check" => (true, file),
        _ => {
            eprintln!("usage: option-tables [--check] FILE");
            return ExitCode::FAILURE;
        }
    };
    match run(check, file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("option-tables: {file}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: bool, file: &str) -> Result<(), String> {
    let document = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let changed = with_tables(&document)
        .ok_or_else(|| format!("the marks {BEGIN:?} and {END:?} are not there"))?;
    if changed == document {
        return Ok(());
    }
    if check {
        return Err("the option tables are not those of the code; run option-tables".to_owned());
    }
    std::fs::write(file, changed).map_err(|error| error.to_string())
}
