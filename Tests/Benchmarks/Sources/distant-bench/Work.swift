/// The kinds of work that are measured.
enum Work: String, CaseIterable {
    case nullCall = "null-call"
    case messageNaming = "message-naming"
    case callback
    case pipeline4 = "pipeline-4"
    case exportChurn = "export-churn"
    case graph100 = "graph-100"
    case graph10000 = "graph-10000"
    case graphView10000 = "graph-view-10000"
    case inFlight64 = "in-flight-64"
    case oneWay = "one-way"
    case stream
    case streamReferences = "stream-references"
    case blob1MiB = "blob-1MiB"
    case blob64MiB = "blob-64MiB"
    case sharedBlob64MiB = "shared-blob-64MiB"
    case jobs3 = "jobs-3"
    case connect
    case idleConnection = "idle-connection"
    case startup
}

/// The transport between the two processes.
enum Transport: String {
    case socket
    case pipe
    /// Pipes to ssh.
    case ssh
    /// Words in shared memory: only a floor.
    case words
}

/// The API that the caller uses.
enum API: String, CaseIterable {
    /// In a closure that runs on the connection's loop.
    case run
    /// On a thread without a task, which blocks.
    case blocking
    /// In an ordinary task.
    case task
}

/// Where the two processes may run.
enum Cores: String, CaseIterable {
    /// Both on the same core.
    case one
    /// Where the system puts them.
    case free
    /// Each on its own core; only if they poll instead of sleeping.
    case two
}

/// The number of repetitions.
struct Scale {
    /// Samples of each kind, taken in turns; their median is reported.
    var rounds: Int
    /// The factor for the counts of a sample.
    var factor: Int

    static let quick = Scale(rounds: 3, factor: 1)
    static let full = Scale(rounds: 9, factor: 5)

    /// How often one sample repeats `work`.
    func count(_ work: Work) -> Int {
        switch work {
        case .nullCall: 1000 * factor
        case .messageNaming: 100_000 * factor
        case .callback, .pipeline4: 500 * factor
        case .exportChurn: 200 * factor
        case .graph100: 300 * factor
        case .graph10000, .graphView10000: 10 * factor
        case .inFlight64: 20_000 * factor
        case .oneWay: 50_000 * factor
        case .stream: 500_000 * factor
        case .streamReferences: 50_000 * factor
        case .blob1MiB: 100 * factor
        case .blob64MiB, .sharedBlob64MiB: 2 * factor
        case .jobs3: 2_000 * factor
        case .connect: 400 * factor
        case .idleConnection: 5000
        case .startup: 2 * factor
        }
    }
}
