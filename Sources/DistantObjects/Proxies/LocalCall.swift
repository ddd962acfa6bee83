import KeyedArchive
import PortTransport

/// A call of an object of this process through a `DistantObject`.
///
/// Arguments and results are copied as between processes.
enum LocalCall {
    static func result<Result: Codable>(
        of message: OutboundMessage, at object: any Vendable
    ) async throws -> Result {
        let answer = OutboundMessage(PortCoder.local.settings, owner: PortCoder.local)
        try await run(message, at: object, answer)
        return try decoder(of: answer).decodeTop(ValueCodec.of(Result.self))
    }

    static func run(_ message: OutboundMessage, at object: any Vendable) async throws {
        try await run(message, at: object, OutboundMessage(PortCoder.local.settings, owner: PortCoder.local))
    }

    static func runOneWay(_ message: OutboundMessage, at object: any Vendable) async throws {
        try await run(message, at: object, nil)
    }

    /// - Parameter answer: Gets the result; `nil` for a one-way message.
    static func run(_ message: OutboundMessage, at object: any Vendable, _ answer: OutboundMessage?) async throws {
        let table = ClassMessages.of(object).takeUnretainedValue()
        let body = table.message(named: message.name)
        guard !body.isUnlisted else {
            throw ConnectionError(
                .noSuchMessage, "\(table.className) has no message “\(message.name)”", context: message.name)
        }
        guard message.argumentCount == body.argumentCount else {
            throw ConnectionError(
                .wrongArgument,
                "\(message.argumentCount) argument\(message.argumentCount == 1 ? " was" : "s were") given, "
                    + "\(body.signature) takes \(body.argumentCount ?? 0)", context: body.qualifiedName)
        }
        do {
            switch body.run {
            case .synchronous(let run):
                try run(object, decoder(of: message), (answer?.encoder).map { Unmanaged.passUnretained($0) })
            case .asynchronous(let run):
                try await run(LocalServing(object: object, decoder: decoder(of: message), answer: answer))
            case .unlisted, .passedOn:
                break
            }
            try answer?.finish()
        } catch let error as ArgumentFailure {
            throw error.refusal(of: body.qualifiedName)
        } catch let error as ResultFailure {
            throw error.underlying
        }
    }

    private static func decoder(of message: OutboundMessage) throws -> ObjectDecoder {
        let block = ByteBlock.make(count: message.encoder.byteCount)
        message.encoder.copyBytes(to: block.bytes)
        let decoder = try ObjectDecoder(
            bytes: UnsafeRawBufferPointer(block.bytes), owner: block,
            shapes: message.encoder.shapes, externals: message.encoder.externals, limits: ArchiveLimits(),
            classes: ClassRegistry())
        decoder.codingOwner = PortCoder.local
        return decoder
    }
}

/// A call of an `async` method of an object of this process.
final class LocalServing: AsyncCall, @unchecked Sendable {
    // Only the task that runs the message uses it.
    let object: AnyObject
    private let answer: OutboundMessage?
    private let arguments: ObjectDecoder

    init(object: AnyObject, decoder: ObjectDecoder, answer: OutboundMessage?) {
        self.object = object
        self.arguments = decoder
        self.answer = answer
    }

    func encode<Value>(_ result: Value, _ writer: Unmanaged<AnyValueCoder>) throws {
        try answer?.encoder.encodeTop(result, writer)
    }

    func answer(_ write: @Sendable (OutboundMessage) async throws -> Void) async throws {
        try await write(answer ?? OutboundMessage(PortCoder.local.settings, owner: PortCoder.local))
    }

    func argument<Value>(_ type: Value.Type, _ reader: Unmanaged<AnyValueCoder>, isLast: Bool) throws -> Value {
        try arguments.decodeTop(type, reader)
    }
}
