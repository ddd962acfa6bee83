import KeyedArchive
import PortTransport

extension InboundCall {
    /// The failure of this call, if a call made by its method has failed because the deadline of both has passed.
    func passedDeadline(with failure: any Error, at now: UInt64) -> ConnectionError? {
        guard let deadline, deadline <= now, let failure = failure as? MethodFailure,
            failure.underlying.code == .deadlineExceeded
        else { return nil }
        return ConnectionError(
            .deadlineExceeded, "the deadline passed while the method waited: \(failure.underlying)",
            context: message.qualifiedName, mayHaveRun: true)
    }

    /// Why the arguments of a call in fragments are missing.
    var lostArguments: any Error {
        ArgumentFailure(
            underlying: body.isRefused
                ? ConnectionError(.overloaded, "too many bytes of messages wait for promises; the call was not run")
                : ConnectionError(.cancelled, "the caller gave up while it was sending"))
    }

    /// Whether the call has metadata or a deadline to pass on.
    @inline(__always)
    var hasContext: Bool { deadline != nil || metadata != nil }

    /// The context that the call passes on.
    var context: CallContext { CallContext(serving: metadata ?? [:], until: deadline) }

    /// Whether the call can run without further checks, as nearly all calls can.
    @inline(__always)
    var mayRun: Bool {
        obstacle == .none && deadline == nil && hasListedArgumentCount
    }

    /// Why a started call must not run; nil if it may.
    @inline(never)
    func refusal(_ limits: ConnectionLimits, _ loop: any PortLoop) -> (any Error)? {
        switch obstacle {
        case .cancelled:
            return ConnectionError(
                .cancelled, "the call was cancelled before it started", context: message.name, mayHaveRun: false)
        case .late:
            return ConnectionError(.closed, "the connection is closing; the call was not run", context: message.name)
        case .failure: if let failure { return failure }
        case .none, .tables, .answers, .calls: break
        }
        guard !message.isUnlisted else {
            return ConnectionError(
                .noSuchMessage, "\(message.targetName) has no message “\(message.name)”", context: message.name)
        }
        guard argumentCount == message.argumentCount ?? argumentCount else {
            return ConnectionError(
                .wrongArgument,
                "\(argumentCount) argument\(argumentCount == 1 ? " was" : "s were") given, \(message.signature) takes "
                    + "\(message.argumentCount ?? 0)", context: message.qualifiedName)
        }
        switch obstacle {
        case .none, .failure, .late, .cancelled: break
        case .tables:
            let fault = tables?.fault.map { "\($0)" } ?? ""
            return ConnectionError(
                .wrongArgument, "the arguments cannot be read: \(fault)", context: message.qualifiedName)
        case .calls:
            return ConnectionError(
                .overloaded, "\(limits.runningCalls) calls are running already; try again later",
                context: message.qualifiedName)
        case .answers:
            return ConnectionError(
                .overloaded, "more than \(limits.unreadAnswers) bytes of answers are not read; the call was not run",
                context: message.qualifiedName)
        }
        if let deadline = deadline, deadline < loop.now {
            return ConnectionError(
                .deadlineExceeded, "the deadline passed before the call could start", context: message.qualifiedName,
                mayHaveRun: false)
        }
        return nil
    }
}
