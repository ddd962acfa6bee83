import DistantObjects

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A process that launches helpers of its own, and listens.
final class Tool: Vendable {
    static var messages: MessageTable<Tool> {
        Message("pid") { _ in { getpid() } }
        Message("launch", Tool.launch)
        Message("streams", Tool.streams)
        Message("listen", Tool.listen)
        Message("say", Tool.say)
    }

    /// Launches a program, which has to be one like this, and asks it for its standard streams.
    func launch(_ program: String) async throws -> [String] {
        let helper = try await Connection.launch(program, configuration: .patientOpening)
        let streams: [String] = try await helper.root(named: "tool").streams()
        await helper.close()
        return streams
    }

    /// What the standard streams of this process are, by the names that the system gives them.
    func streams() -> [String] {
        (0...2).map { number in
            var name = [CChar](repeating: 0, count: 256)
            let count = max(0, readlink("/proc/self/fd/\(number)", &name, name.count))
            return String(decoding: name[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    /// Listens at a path, connects to itself, and has a message sent each way.
    func listen(_ path: String) async throws -> Int {
        let listener = try Listener(at: .path(path))
        defer { listener.close() }
        let client = try await Connection.open(.path(path), configuration: .patient)
        var accepted = listener.makeAsyncIterator()
        await accepted.next()?.vend(Room())
        let back: Int = try await client.root.note(7)
        await client.close()
        return back
    }

    /// Prints to standard output and standard error.
    func say(_ text: String) {
        print(text)
        fflush(nil)
        _ = write(2, text, text.utf8.count)
    }
}
