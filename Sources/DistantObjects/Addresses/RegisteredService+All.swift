public import PortTransport

@_exported public import struct PortTransport.RegisteredService

extension RegisteredService {
    /// The services of this user on this machine, in the order of their names.
    ///
    /// Only their lock files are read: no service is connected to, and none is held up.
    ///
    /// - Throws: `ConnectionError.transport` if the user has no folder for services, or it cannot be read.
    public static func all() throws -> [RegisteredService] {
        do { return try ServiceFolder.services() } catch {
            throw ConnectionError(.transport, error.message, context: "services", underlying: error)
        }
    }
}
