import KeyedArchive

// An error in a `Return` frame is a sequence of top-level values. For `.thrown`: the type's name, a text, whether the content
// follows, and the content. For `.refused`: a code, a sentence, a context (empty for none), and whether the method may have
// run.
extension PortCoder {
    /// Writes an error that a method threw, or a refusal, instead of a result.
    func encode(_ error: any Error, of call: String, into message: OutboundMessage) -> ReturnStatus {
        if let refusal = refusal(for: error, of: call) {
            return encode(refusal, into: message)
        }
        do {
            message.encoder.reset()
            if let passed = error as? PassedError {
                try passed.load(into: message.encoder)
                return passed.status
            } else if let failure = error as? MethodFailure {
                try encode(failure.underlying.code, failure.underlying.description, into: message)
            } else if let coded = error as? any (Error & Codable) {
                try encodeContent(coded, into: message)
            } else if let remote = error as? RemoteError, let code = remote.code {
                try encode(code, remote.message, into: message)
            } else if let remote = error as? RemoteError {
                try encodeText(remote.typeName, remote.message, into: message)
            } else {
                let text =
                    settings.exposesErrorText
                    ? String(describing: error) : "the other process withholds the text of errors that are not Codable"
                try encodeText(typeName(type(of: error)), text, into: message)
            }
            try message.encoder.finish()
            return .thrown
        } catch _ {
            if encodeText(of: error, into: message) { return .thrown }
            return encode(
                ConnectionError(
                    .notEncodable, "the method threw an error that cannot be sent", context: call, mayHaveRun: true),
                into: message)
        }
    }

    /// Writes the type and the text of an error whose content cannot be sent.
    ///
    /// - Returns: Whether the error has a content; else nothing is written.
    func encodeText(of error: any Error, into message: OutboundMessage) -> Bool {
        guard let coded = error as? any (Error & Codable) else { return false }
        message.encoder.reset()
        do {
            try encodeText(typeName(type(of: coded)), String(describing: coded), into: message)
            try message.encoder.finish()
            return true
        } catch {
            return false
        }
    }

    /// Writes a refusal.
    func encode(_ refusal: ConnectionError, into message: OutboundMessage) -> ReturnStatus {
        message.encoder.reset()
        // Scalars and short strings always encode. If they did not, the reader would take an empty body as a refusal, too.
        try? message.encode(Int64(refusal.code.number))
        try? message.encode(refusal.message.cut(toBytes: 1_024))
        try? message.encode((refusal.context ?? "").cut(toBytes: 256))
        try? message.encode(!refusal.isSafeToRetry)
        try? message.encoder.finish()
        return .refused
    }

    /// The error of a call in the form in which other calls fail with it.
    func cause(_ error: any Error, of call: String) -> any Error { refusal(for: error, of: call) ?? error }

    private func refusal(for error: any Error, of call: String) -> ConnectionError? {
        switch error {
        case let error as ArgumentFailure:
            error.refusal(of: call)
        case let error as ResultFailure:
            refusal(ofResult: error.underlying, of: call)
        case is CancellationError:
            ConnectionError(.cancelled, "the method stopped because it was cancelled", context: call)
        case let error as NoSuchRoot:
            error.refusal
        case let error as ConnectionError:
            error
        default:
            nil
        }
    }

    /// The refusal for a result that cannot be encoded; `ConnectionError.unsent` is the counterpart for arguments.
    private func refusal(ofResult failure: any Error, of call: String) -> ConnectionError {
        let sentence = "the result cannot be sent: \(sentence(for: failure))"
        let archive = failure as? ArchiveError
        let own = (failure as? ConnectionError) ?? archive?.underlying as? ConnectionError
        if own == nil, archive?.code == .limit {
            return ConnectionError(
                .tooLarge, "\(sentence); Connection.Limits.archive bounds it, on both sides", context: call,
                mayHaveRun: true)
        }
        let passedOn: Set<ConnectionError.Code> = [.tooLarge, .overloaded, .interfaceMismatch, .foreignReference]
        let code = own.flatMap { passedOn.contains($0.code) ? $0.code : nil } ?? .notEncodable
        return ConnectionError(code, sentence, context: call, mayHaveRun: true)
    }

    /// The error of a one-way message in the form its sender gets: a code and a text, without references or content.
    func summary(of error: any Error, of call: String) -> ConnectionError {
        if let passed = error as? PassedError { return summary(of: passed.underlying, of: call) }
        if let refusal = refusal(for: error, of: call) { return refusal }
        if let failure = error as? MethodFailure {
            return ConnectionError(.methodFailed, "\(ConnectionError.self): \(failure.underlying)", context: call)
        }
        let text =
            error is any (Error & Codable) || settings.exposesErrorText
            ? String(describing: error) : "the other process withholds the text of errors that are not Codable"
        return ConnectionError(.methodFailed, "\(type(of: error)): \(text)", context: call)
    }

    private func encodeContent<Failure: Error & Codable>(_ error: Failure, into message: OutboundMessage) throws {
        try message.encode(typeName(Failure.self))
        try message.encode(String(describing: error).cut(toBytes: 1_024))
        try message.encode(true)
        try message.encode(error)
    }

    /// Writes a `ConnectionError` that the method threw.
    ///
    /// Its content is its code.
    private func encode(_ code: ConnectionError.Code, _ text: String, into message: OutboundMessage) throws {
        try message.encode("\(ConnectionError.self)")
        try message.encode(text.cut(toBytes: 1_024))
        try message.encode(true)
        try message.encode(Int64(code.number))
    }

    private func encodeText(_ typeName: String, _ text: String, into message: OutboundMessage) throws {
        try message.encode(typeName)
        try message.encode(text.cut(toBytes: 1_024))
        try message.encode(false)
    }

    /// Decodes the error in a `Return` frame.
    ///
    /// - Parameter signature: That of the call, if it is known.
    func error(in reply: Reply, from message: String, as signature: SignatureRecord? = nil) -> any Error {
        do {
            let decoder = try decoder(reply.body, largeBytes: reply.largeBytes, tables: reply.tables)
            let failure = try error(decoder, reply.status, from: message, as: signature)
            recycle(consume decoder)
            return failure
        } catch let unreadable as UnreadableError {
            return unreadable.remote
        } catch {
            return ConnectionError(
                .wrongResult, "the peer returned an error that cannot be read: \(error)", context: message,
                underlying: error)
        }
    }

    private func error(
        _ decoder: ObjectDecoder, _ status: ReturnStatus, from message: String, as signature: SignatureRecord?
    ) throws -> any Error {
        if status == .refused {
            let code = try decoder.decodeTop(Int64.self)
            let sentence = try decoder.decodeTop(String.self)
            let context = try decoder.decodeTop(String.self)
            let refusal = ConnectionError.Code(number: Int(code))
            // Older peers do not send it.
            let mayHaveRun = try? decoder.decodeTop(Bool.self)
            return ConnectionError(
                refusal, sentence, context: context.isEmpty ? message : context,
                mayHaveRun: mayHaveRun ?? refusal.mayHaveRunWhenRefused)
        }
        let typeName = try decoder.decodeTop(String.self)
        let text = try decoder.decodeTop(String.self)
        let hasContent = try decoder.decodeTop(Bool.self)
        if hasContent {
            do {
                if let type = try errorType(named: typeName, as: signature) { return try content(type, decoder) }
            } catch {
                throw UnreadableError(
                    remote: RemoteError(
                        typeName: typeName, message: text, decodingFailure: sentence(for: error)))
            }
        }
        if hasContent, typeName == "\(ConnectionError.self)", let code = try? decoder.decodeTop(Int64.self) {
            return RemoteError(typeName: typeName, message: text, code: .init(number: Int(code)))
        }
        return RemoteError(typeName: typeName, message: text)
    }

    private func content<Failure: Error & Codable>(_ type: Failure.Type, _ decoder: ObjectDecoder) throws -> any Error {
        try decoder.decodeTop(type)
    }
}

/// An error of a listed type whose content is of another version.
///
/// Thrown, so that the decoder that failed is not used again.
private struct UnreadableError: Error {
    let remote: RemoteError
}

/// The text of an error for users.
///
/// An archive's error only says that a type's code threw, so the error below it is preferred if it is one of this
/// library.
func sentence(for error: any Error) -> String {
    guard let archive = error as? ArchiveError, let own = archive.underlying as? ConnectionError else {
        return String(describing: error)
    }
    return own.description
}

extension ConnectionError {
    /// The error that a caller gets for arguments that cannot be sent.
    ///
    /// - Parameter position: Which argument it is, counted from 1; nil if the fault shows only once all are written.
    static func unsent(_ error: any Error, _ message: String, position: Int?) -> ConnectionError {
        let argument = position.map { "argument \($0)" } ?? "an argument"
        if let own = (error as? ArchiveError)?.underlying as? ConnectionError {
            return ConnectionError(own.code, own.message, context: own.context ?? message, underlying: error)
        }
        guard (error as? ArchiveError)?.code == .limit else {
            return ConnectionError(
                .notEncodable, "\(argument) cannot be sent: \(error)", context: message, underlying: error)
        }
        return ConnectionError(
            .tooLarge, "\(argument) cannot be sent: \(error); Connection.Limits.archive bounds it, on both sides",
            context: message, underlying: error)
    }
}
