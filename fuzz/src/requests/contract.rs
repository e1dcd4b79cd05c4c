//! The contract as the service describes itself: its unary methods, and what their messages are made of.

use mancala::wire::proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A unary method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Such as `/mancala.v1.SessionService/ApplyMove`.
    pub path: String,
    /// Such as `ApplyMove`.
    pub name: String,
    /// The full name of what it takes.
    pub request: String,
}

pub struct Contract {
    pub methods: Vec<Method>,
    messages: BTreeMap<String, Vec<FieldDescriptorProto>>,
    /// How many values enums have.
    enums: BTreeMap<String, usize>,
}

/// Read once.
pub static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::read);

impl Contract {
    fn read() -> Contract {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).expect("a descriptor set");
        let mut contract = Contract { methods: Vec::new(), messages: BTreeMap::new(), enums: BTreeMap::new() };
        for file in set.file {
            let package = format!(".{}", file.package());
            for message in &file.message_type {
                contract.add(&package, message);
            }
            for listed in &file.enum_type {
                contract.enums.insert(format!("{package}.{}", listed.name()), listed.value.len());
            }
            for service in &file.service {
                let unary = service.method.iter().filter(|method| !method.client_streaming() && !method.server_streaming());
                contract.methods.extend(unary.map(|method| Method {
                    path: format!("/{}.{}/{}", file.package(), service.name(), method.name()),
                    name: method.name().to_owned(),
                    request: method.input_type().to_owned(),
                }));
            }
        }
        contract
    }

    fn add(&mut self, outer: &str, message: &DescriptorProto) {
        let name = format!("{outer}.{}", message.name());
        message.nested_type.iter().for_each(|nested| self.add(&name, nested));
        self.messages.insert(name, message.field.clone());
    }

    /// The fields of a message, by its full name.
    pub fn fields(&self, message: &str) -> &[FieldDescriptorProto] {
        self.messages.get(message).unwrap_or_else(|| panic!("{message} is described"))
    }

    /// How many values an enum has, by its full name.
    pub fn values(&self, name: &str) -> usize {
        *self.enums.get(name).unwrap_or_else(|| panic!("{name} is described"))
    }
}
