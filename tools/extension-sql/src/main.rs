//! Writes the extension's install script (`NAME--VERSION.sql`) from what `pgrx` left in the library:
//! every `#[pg_extern]` and `extension_sql!` is an entry of the section `.pgrxsc`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use object::{Object, ObjectSection};
use pgrx_sql_entity_graph::section::{decode_entities, is_schema_section_name};
use pgrx_sql_entity_graph::{ControlFile, PgrxSql, SqlGraphEntity};

const USAGE: &str = "usage: extension-sql LIBRARY CONTROL_FILE OUTPUT_DIRECTORY";

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [library, control_file, output_directory] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match write_install_script(library, control_file, output_directory) {
        Ok(script) => {
            println!("{}", script.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("extension-sql: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the install script of the extension that `control_file` describes and returns its path.
fn write_install_script(
    library: &Path,
    control_file: &Path,
    output_directory: &Path,
) -> Result<PathBuf, Box<dyn Error>> {
    let name = control_file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .ok_or_else(|| format!("{}: no extension name", control_file.display()))?;
    let control = ControlFile::try_from(control_file.to_path_buf())
        .map_err(|error| format!("{}: {error}", control_file.display()))?;
    let script = output_directory.join(format!("{name}--{}.sql", control.default_version));

    let bytes =
        std::fs::read(library).map_err(|error| format!("{}: {error}", library.display()))?;
    let section =
        entity_section(&bytes).map_err(|error| format!("{}: {error}", library.display()))?;

    // Without `module_pathname` the functions name the library with its version, as pgrx does.
    let versioned_library = control.module_pathname.is_none();
    let entities =
        std::iter::once(SqlGraphEntity::ExtensionRoot(control)).chain(decode_entities(section)?);
    PgrxSql::build(entities, name.to_owned(), versioned_library)?.to_file(&script)?;
    Ok(script)
}

/// The bytes of the section in which `pgrx` describes the SQL entities.
fn entity_section(library: &[u8]) -> Result<&[u8], Box<dyn Error>> {
    let object = object::File::parse(library)?;
    for section in object.sections() {
        if is_schema_section_name(section.name()?) {
            return Ok(section.data()?);
        }
    }
    Err("no section with SQL entities: is this a library built with pgrx?".into())
}
