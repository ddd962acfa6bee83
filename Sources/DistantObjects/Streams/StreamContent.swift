import KeyedArchive
import PortTransport

/// The final value of a stream that has none.
struct NoFinalValue: Codable, Sendable {}

/// What a `DistantStream` stands for: a sequence of this process, or a stream of the peer.
struct StreamContent<Element: Codable & Sendable, Final: Codable & Sendable>: Sendable {
    enum Origin: Sendable {
        case local(LocalStream<Element, Final>)
        case remote(StreamHandle)
        case dead(DeadStreamObject)
    }

    let origin: Origin
    /// How far this process reads ahead; nil to follow the reader.
    var readAhead: Int?
    /// How long this process waits for an element; nil for no limit.
    var timeout: Duration?

    /// - Parameter readAhead: How far the reader may read ahead; nil to leave that to the reader.
    init(readAhead: Int?, _ body: @escaping LocalStream<Element, Final>.Body) {
        origin = .local(LocalStream(body, readAhead: readAhead))
    }

    /// The stream that a message's table of references names.
    ///
    /// - Parameter type: The name of the expected type, for the error.
    init(ofExternal object: AnyObject, as type: Any.Type) throws {
        switch object {
        case let handle as StreamHandle: origin = .remote(handle)
        case let local as LocalStream<Element, Final>: origin = .local(local)
        case let dead as DeadStreamObject: origin = .dead(dead)
        default:
            throw ConnectionError(
                .wrongArgument,
                object is StreamSource
                    ? "the stream has elements of another type"
                    : "expected a stream, found \(object is DistantObject ? "an object" : "\(Swift.type(of: object))")",
                context: typeName(type))
        }
    }

    /// What is entered into a message's table of references.
    func _external(for owner: AnyObject?, as type: Any.Type) throws -> _ExternalValue {
        guard let port = owner as? PortCoder else { throw ConnectionError.needsConnection(type) }
        if let connection = port.connection,
            !connection.state.withLock({ $0.session.handshake.knowsStreams || !$0.session.isOpen })
        {
            throw ConnectionError(
                .notAvailable, "the other process does not know streams (bit 64 of the features in its Hello)",
                context: typeName(type))
        }
        switch origin {
        case .local(let stream): return .object(stream)
        case .dead(let dead): return .object(dead)
        case .remote(let handle):
            // Another connection gets a stream of this process, which reads this one.
            return .object(handle.connection.coder === port ? handle : LocalStream(relay, readAhead: nil))
        }
    }

    @concurrent
    private func relay(_ writer: StreamWriter<Element>) async throws -> Final {
        let reader = makeReader()
        while let element = try await reader.next() { try await writer.send(element) }
        return try await final()
    }

    /// The stream as it is read here.
    ///
    /// - Throws: Why it cannot be read.
    private func handle() throws -> StreamHandle {
        switch origin {
        case .local(let stream): try stream.handle()
        case .remote(let handle): handle
        case .dead(let dead): throw dead.reason.error
        }
    }

    func makeReader() -> StreamReader<Element> {
        do {
            let handle = try handle()
            return handle.begin(readingAhead: readAhead) ? RemoteReader(handle, timeout: timeout) : StreamReader()
        } catch {
            return StreamReader(error)
        }
    }

    // MARK: The final value

    /// The final value, once the stream has been read to its end; reads it to its end if nothing reads it.
    func final() async throws -> Final {
        let handle = try handle()
        if handle.begin(readingAhead: readAhead) { try await Self.skip(handle) }
        try await handle.waitForEnd()
        return try Self.final(of: handle)
    }

    /// The final value, as `final()`: blocks the calling thread.
    func blockingFinal(within limit: Duration?) throws -> Final {
        let handle = try handle()
        let deadline = limit.map { Deadline(after: $0, at: handle.connection.now) }
        if handle.begin(readingAhead: readAhead) { try Self.skipBlocking(handle, until: deadline) }
        try handle.waitForEndBlocking(until: deadline)
        return try Self.final(of: handle)
    }

    private static var late: ConnectionError {
        ConnectionError(.deadlineExceeded, "the final value did not come in time", context: "the stream")
    }

    /// Reads a stream without decoding its items.
    private static func skip(_ handle: StreamHandle) async throws {
        var last: StreamItems?
        repeat { last = skip(try await handle.next(after: last), of: handle) } while !handle.isDone
    }

    private static func skipBlocking(_ handle: StreamHandle, until deadline: Deadline?) throws {
        var last: StreamItems?
        do {
            repeat {
                last = skip(try handle.nextBlocking(after: last, until: deadline), of: handle)
                if let deadline, !deadline.isAfter(handle.connection.now), !handle.isDone { throw late }
            } while !handle.isDone
        } catch {
            handle.stop(error)
            throw error
        }
    }

    /// - Returns: The frame that is consumed now.
    private static func skip(_ next: StreamInbox.Next, of handle: StreamHandle) -> StreamItems? {
        switch next {
        case .items(let items):
            handle.connection.consumed(items.body)
            return items
        case .end(let end):
            end.take(on: handle.connection)
            return nil
        case .nothing: return nil
        }
    }

    private static func final(of handle: StreamHandle) throws -> Final {
        guard let end = handle.end else { throw DeadStream.used.error }
        if let error = end.error(on: handle.connection) { throw error }
        guard case .message(_, let body, let tables) = end, let (bytes, _) = body.bytes else {
            throw ConnectionError(.wrongResult, "the final value was not sent completely", context: "the stream")
        }
        if let nothing = NoFinalValue() as? Final { return nothing }
        let coder = handle.connection.coder
        do {
            let decoder = try coder.decoder(bytes, largeBytes: 0, tables: tables)
            let value = try decoder.decodeTop(Final.self)
            coder.recycle(consume decoder)
            return value
        } catch {
            throw ConnectionError(
                .wrongResult, "the final value cannot be read as \(Final.self): \(sentence(for: error))",
                context: "the stream", underlying: error)
        }
    }
}

extension StreamEnd {
    /// The error with which the stream ended; nil if it ended well.
    func error(on connection: Connection) -> (any Error)? {
        switch self {
        case .failed(let error): return error
        case .message(.result, let body, let tables):
            if let fault = tables?.fault { return fault }
            return body.bytes == nil ? ConnectionError(.wrongResult, "the stream's end was not sent completely") : nil
        case .message(let status, let body, let tables):
            guard let (bytes, _) = body.bytes else {
                return ConnectionError(.wrongResult, "the stream's error was not sent completely")
            }
            return connection.coder.error(
                in: Reply(status: status, body: bytes, largeBytes: 0, tables: tables), from: "the stream")
        }
    }

    /// Counts the bytes of the end as consumed, which the reader has come to.
    func take(on connection: Connection) {
        if case .message(_, let body, _) = self { connection.consumed(body) }
    }
}
