import DistantObjects

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Command {
    /// Lists the messages that the vended objects of a running service answer.
    func interfaces(_ address: String) throws {
        let service: Service
        do { service = try Service(at: address) } catch { throw FileError(address, Self.sentence(for: error)) }
        defer { _ = try? service.connection.blockingClose() }
        let progress = Progress(for: 1)
        progress.show("asking for the roots")
        let roots: [(name: String, description: ClassDescription?)]
        do { roots = try service.roots() } catch { throw FileError(address, Self.sentence(for: error)) }
        progress.finish()
        if roots.isEmpty { return try Console.say("\(PlainText.name(address)): no roots") }
        for (name, description) in roots {
            let root = name.isEmpty ? "root" : "root “\(PlainText.name(name))”"
            guard let description else {
                try Console.say("\(root): its class is not described")
                continue
            }
            try Console.say("\(root): \(PlainText.name(description.name))")
            for message in description.messages { try Console.say("    \(PlainText.name("\(message)"))") }
        }
    }

    /// The message of an error; both the transport and the connection name the address in theirs.
    private static func sentence(for error: any Error) -> String {
        // The peer may have written the text.
        PlainText.name((error as? ConnectionError)?.message ?? "\(error)")
    }
}

/// A connection to a running service.
private struct Service {
    let connection: Connection

    init(at text: String) throws {
        // A file in this folder is meant rather than a service of its name, and a name has no slash.
        let isPath = !text.contains(":") && (text.contains("/") || FileManager.default.fileExists(atPath: text))
        let isPlain = isPath && !["/", "./", "../"].contains { text.hasPrefix($0) }
        let address = try ConnectionAddress(isPlain ? "./\(text)" : text)
        var configuration = Connection.Configuration()
        configuration.programName = "distant"
        configuration.accept = .anyone
        connection = try Connection.blockingOpen(address, configuration: configuration)
    }

    /// The roots by name, each with its class.
    func roots() throws -> [(name: String, description: ClassDescription?)] {
        var names = [""]
        do {
            names = try connection.blockingRootNames()
        } catch let error as ConnectionError where error.code == .noSuchMessage {
            // An older version cannot list its roots.
        }
        return try names.map { name in
            (name, DistantObject.classDescription(of: try connection.blockingRoot(named: name)))
        }
    }
}
