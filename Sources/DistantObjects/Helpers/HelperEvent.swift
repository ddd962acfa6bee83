public import PortTransport

/// Something that has happened to a ``Helper``.
///
/// Cases may be added in later versions.
public enum HelperEvent: Sendable {
    /// A process runs and is connected; its number is nil if the helper is no process of its own.
    case started(pid: Int32?)
    /// It has ended.
    case ended(HelperEnd)
    /// It is started again after a pause.
    case waiting(Duration)
    /// It has not answered a ping for that long.
    case unresponsive(for: Duration)
    /// A signal of its terminal has stopped it, such as SIGTTIN: it runs on when the terminal lets it.
    case suspended(signal: Int32)
    /// It is not started again; calls fail with this reason.
    case gaveUp(String)
}

/// How one process of a ``Helper`` has ended.
public struct HelperEnd: Sendable {
    /// The number of the process; nil if it is no process of its own, or was never started.
    public let pid: Int32?
    /// How the process has ended; nil if it is no process of its own, or was never started.
    public let status: ChildProcess.ExitStatus?
    /// Why, in words.
    public let reason: String
    /// The last lines of its standard error, at most 64 KiB; empty if it is this process's (``HelperOptions/Output/inherited``).
    public let lastErrorLines: String
    /// The last lines of its standard output, at most 64 KiB, if ``HelperOptions/standardOutput`` has them read.
    public let lastOutputLines: String
    /// The processes that it has started, directly or not, and that run on, because they have left its group.
    ///
    /// Those of its group are ended with it. They are found on Linux only, and only if they got the variables of its environment.
    public let leftProcesses: [ChildProcess.LeftProcess]
    /// Whether it has ended in order: it was stopped or restarted by hand, or exited with status 0.
    public let isOrderly: Bool

    init(_ remains: HelperRemains, reason: String, isOrderly: Bool) {
        pid = remains.pid
        status = remains.status
        self.reason = reason
        lastErrorLines = remains.errorLines
        lastOutputLines = remains.outputLines
        leftProcesses = remains.left
        self.isOrderly = isOrderly
    }
}

extension HelperEnd: CustomStringConvertible {
    /// The reason, and the processes that run on.
    public var description: String {
        guard !leftProcesses.isEmpty else { return reason }
        return "\(reason); it has left behind \(leftProcesses.map { "\($0)" }.joined(separator: ", "))"
    }
}

extension HelperEvent {
    /// The name of the case, such as "gaveUp": to count events of a kind.
    public var name: String {
        switch self {
        case .started: "started"
        case .ended: "ended"
        case .waiting: "waiting"
        case .unresponsive: "unresponsive"
        case .suspended: "suspended"
        case .gaveUp: "gaveUp"
        }
    }
}

extension HelperEvent: CustomStringConvertible {
    /// The event as a line for a log, without control characters and without the name of the helper.
    public var description: String { PlainText.line(text) }

    private var text: String {
        switch self {
        case .started(let pid?): "started as process \(pid)"
        case .started(nil): "started"
        case .ended(let end): end.description
        case .waiting(let pause): "is started again in \(pause)"
        case .unresponsive(let time): "has not answered for \(time)"
        case .suspended(let signal): "was stopped by \(ChildProcess.ExitStatus.signalled(signal))"
        case .gaveUp(let reason): "was given up: \(reason)"
        }
    }
}
