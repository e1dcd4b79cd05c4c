//! Reflection, by which tools such as grpcurl learn the services without proto files.

use super::services::Services;
use tonic::server::NamedService;
use tonic_health::pb::health_server::HealthServer;
use tonic_reflection::server::{Builder, Error, v1, v1alpha};

/// Adds reflection to services: of the services of these names, of health, and of reflection itself.
///
/// Both versions are served, as grpcurl before 1.9 knows v1alpha alone. The descriptors of `google.rpc` are among those that
/// can be asked for, since without them a tool can't show the details of an error.
pub fn add(services: Services, names: &[&'static str], descriptors: &[u8]) -> Result<Services, Error> {
    let configure = || {
        let builder = Builder::configure()
            .register_encoded_file_descriptor_set(descriptors)
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET);
        let own = [V1::NAME, V1Alpha::NAME, Health::NAME];
        names.iter().copied().chain(own).fold(builder, |builder, name| builder.with_service_name(name))
    };
    Ok(services.with(configure().build_v1()?).with(configure().build_v1alpha()?))
}

// A service's name hangs on its server type, whatever implements it.
type V1 = v1::ServerReflectionServer<()>;
type V1Alpha = v1alpha::ServerReflectionServer<()>;
type Health = HealthServer<()>;
