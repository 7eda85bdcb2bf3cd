//! Object stores and a web server on this machine, started for the tests of one program and ended with it.
//! Where their programs are not installed (see scripts/store-servers), their tests are skipped by name.

mod azurite;
mod google;
mod nginx;
mod seaweed;
mod unreliable;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub use azurite::Azurite;
pub use google::Google;
pub use nginx::Nginx;
pub use seaweed::{Identity, Seaweed};
pub use unreliable::{Behaviour, Unreliable};

/// The directory of the servers' programs.
pub const PROGRAMS: &str = "ICEBERG_FDW_STORE_SERVERS";

const PATIENCE: Duration = Duration::from_secs(60);

/// The program of a server, or why its tests cannot run.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let directory = std::env::var(PROGRAMS).map_err(|_| format!("{PROGRAMS} is not set"))?;
    let program = Path::new(&directory).join(name);
    match program.exists() {
        true => Ok(program),
        false => Err(format!("{name} is not installed")),
    }
}

/// How far the second port of a server of SeaweedFS is from its first.
pub(crate) const SECOND_PORT: u16 = 10_000;

/// A port that nobody listens on, nor on the one [`SECOND_PORT`] above it: below those that the system gives to
/// connections.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    loop {
        let number = std::process::id() * 16 + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_100 + u16::try_from(number % 9_900).unwrap_or(0);
        if is_free(port) && is_free(port + SECOND_PORT) {
            return port;
        }
    }
}

/// A running server, killed at the end: also when this program is.
struct Process {
    child: Child,
    /// What it writes, and its data.
    directory: tempfile::TempDir,
}

impl Process {
    fn start(program: &Path, prepare: impl FnOnce(&Path, &mut Command)) -> Process {
        let directory = tempfile::tempdir().expect("a directory");
        let log = File::create(directory.path().join("log")).expect("a log file");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a handle"))
            .stderr(log);
        prepare(directory.path(), &mut command);
        let child = command.spawn().expect("the server can be started");
        Process { child, directory }
    }

    /// Waits until the server answers a request for a path.
    fn wait_for(&mut self, port: u16, path: &str) {
        self.wait_until(|| send(port, "GET", path, "", &[]).is_some());
    }

    /// Waits until the server takes connections.
    fn wait_for_port(&mut self, port: u16) {
        self.wait_until(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    fn wait_until(&mut self, is_ready: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_ready() {
            let ended = self.child.try_wait().expect("the server can be watched");
            if ended.is_some() || start.elapsed() > PATIENCE {
                let log = std::fs::read_to_string(self.directory.path().join("log"));
                panic!("the server does not start: {}", log.unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request of a method with more header lines and a body, and gives the whole answer.
fn send(port: u16, method: &str, path: &str, headers: &str, body: &[u8]) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    (!answer.is_empty()).then(|| String::from_utf8_lossy(&answer).into_owned())
}
