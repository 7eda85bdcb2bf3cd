//! nginx, which serves a directory as it is.

use std::path::Path;

use super::{Process, free_port, program};

/// A running web server. `/files/` is the directory, `/moved/` a redirect to it on the same host, `/away/` one to
/// another host, and `/denied/` is for nobody.
pub struct Nginx {
    port: u16,
    other: u16,
    _process: Process,
}

impl Nginx {
    /// Starts a web server of a directory, or says why it cannot be had.
    pub fn start(served: &Path) -> Result<Nginx, String> {
        let nginx = program("nginx")?;
        let (port, other) = (free_port(), free_port());
        let mut process = Process::start(&nginx, |directory, command| {
            let user = if served.metadata().is_ok() {
                "user root;"
            } else {
                ""
            };
            let work = directory.display();
            let served = served.display();
            let text = format!(
                "{user} daemon off; worker_processes 1; pid {work}/pid; error_log stderr;
                 events {{ }}
                 http {{
                     access_log off; types {{ }} default_type application/octet-stream;
                     client_body_temp_path {work}/body; proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi;
                     uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
                     server {{
                         listen 127.0.0.1:{port}; listen 127.0.0.1:{other}; merge_slashes off;
                         location /files/ {{ alias {served}/; }}
                         location /moved/ {{ rewrite ^/moved/(.*)$ /files/$1 redirect; }}
                         location /away/ {{ rewrite ^/away/(.*)$ http://127.0.0.1:{other}/files/$1 redirect; }}
                         location /denied/ {{ return 403; }}
                         location /secret/ {{ return 401; }}
                         location / {{ return 404; }}
                     }}
                 }}"
            );
            let config = directory.join("nginx.conf");
            std::fs::write(&config, text).expect("written");
            command.arg("-e").arg("stderr").arg("-c").arg(config);
        });
        process.wait_for(port, "/");
        Ok(Nginx {
            port,
            other,
            _process: process,
        })
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The URL of a path at the other port, which the redirect `/away/` leads to.
    pub fn other_url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.other)
    }
}
