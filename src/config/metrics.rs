//! Where the server is measured.

use super::load::Given;
use std::fmt;
use std::net::SocketAddr;

/// Where the server is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsConfig {
    /// Address on which metrics are served; none: they are not. Port 0 lets the system choose one.
    pub listen: Option<SocketAddr>,
}

impl MetricsConfig {
    pub(super) fn take(given: &mut Given, defaults: Self) -> Self {
        let address = "an IP address and a port such as 127.0.0.1:9090, or nothing";
        Self {
            listen: given.take("metrics.listen", defaults.listen, address, |text| match text {
                "" => Some(None),
                text => text.parse().ok().map(Some),
            }),
        }
    }
}

/// As a section of a file.
impl fmt::Display for MetricsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listen } = self;
        writeln!(f, "listen = \"{}\"", listen.map(|address| address.to_string()).unwrap_or_default())
    }
}
