// Tables that a connection makes when it first needs them: few connections are busy in both directions.

/// The tables that a side needs from its first call on.
struct CallerTables<Host: ConversationHost>: ~Copyable, MadeOnDemand {
    var imports = ImportTable<Host.Proxy>()
    var questions = QuestionTable<Host.Waiter>()
    var namesOut = OutboundInterning<String>()
    var classesIn = InboundInterning<DescribedClass>()
}

/// The tables that a side needs from the peer's first call on, or once it has sent an object.
struct ServerTables<Host: ConversationHost>: ~Copyable, MadeOnDemand {
    var exports = ExportTable()
    var answers = AnswerTable<Host.RunningCall>()
    var namesIn = InboundInterning<InternedName>()
    var classesOut = OutboundInterning<UnsafeRawPointer>()
}

/// The tables that most connections never need.
struct RareTables: ~Copyable, MadeOnDemand {
    lazy var shapeTables = ShapeTables()
    var partials: [UInt64: PartialMessage] = [:]
    var laidAside = LaidAside()
    var blobs: BlobTable?
    var oneWays = OneWayRecord()
}

// To read a noncopyable table makes the table. Code that must not make a table reads one of the counts below.
extension Conversation {
    var imports: ImportTable<Proxy> {
        @inline(__always) mutating _read { yield calling.value.imports }
        @inline(__always) _modify { yield &calling.value.imports }
    }
    var questions: QuestionTable<Waiter> {
        @inline(__always) mutating _read { yield calling.value.questions }
        @inline(__always) _modify { yield &calling.value.questions }
    }
    var namesOut: OutboundInterning<String> {
        @inline(__always) mutating _read { yield calling.value.namesOut }
        @inline(__always) _modify { yield &calling.value.namesOut }
    }
    var classesIn: InboundInterning<DescribedClass> {
        @inline(__always) mutating _read { yield calling.value.classesIn }
        @inline(__always) _modify { yield &calling.value.classesIn }
    }
    var exports: ExportTable {
        @inline(__always) mutating _read { yield serving.value.exports }
        @inline(__always) _modify { yield &serving.value.exports }
    }
    var answers: AnswerTable<RunningCall> {
        @inline(__always) mutating _read { yield serving.value.answers }
        @inline(__always) _modify { yield &serving.value.answers }
    }
    var namesIn: InboundInterning<InternedName> {
        @inline(__always) mutating _read { yield serving.value.namesIn }
        @inline(__always) _modify { yield &serving.value.namesIn }
    }
    var classesOut: OutboundInterning<UnsafeRawPointer> {
        @inline(__always) mutating _read { yield serving.value.classesOut }
        @inline(__always) _modify { yield &serving.value.classesOut }
    }
    var shapeTables: ShapeTables {
        mutating get { rare.value.shapeTables }
    }
    /// Incoming messages whose fragments are still arriving, by the number of their opener, the first frame.
    var partials: [UInt64: PartialMessage] {
        @inline(__always) get { rare.read { $0.partials } ?? [:] }
        @inline(__always) _modify { yield &rare.value.partials }
    }
    /// Incoming messages whose fragments have come, and that wait to be started or read.
    var laidAside: LaidAside {
        @inline(__always) get { rare.read { $0.laidAside } ?? LaidAside() }
        @inline(__always) _modify { yield &rare.value.laidAside }
    }
    /// The blobs of both directions, which are byte values in shared regions; nil before the first blob.
    var blobs: BlobTable? {
        @inline(__always) get { rare.read { $0.blobs } ?? nil }
        @inline(__always) _modify { yield &rare.value.blobs }
    }
    /// The record of sent one-way messages and of those that were lost.
    var oneWays: OneWayRecord {
        @inline(__always) get { rare.read { $0.oneWays } ?? OneWayRecord() }
        @inline(__always) _modify { yield &rare.value.oneWays }
    }

    // MARK: Counts

    /// The number of objects of the peer that this side refers to.
    var importCount: Int { calling.read { $0.imports.count } ?? 0 }
    /// The number of calls of this side that are under way.
    var questionCount: Int { calling.read { Int($0.questions.count) } ?? 0 }
    /// The number of question numbers that this side has used.
    var numbersAsked: Int { calling.read { $0.questions.numbers } ?? 0 }
    /// Whether the answer to a written call is awaited; promises do not count.
    var isAwaited: Bool { calling.read { $0.questions.isAwaited } ?? false }
    /// The number of objects that the peer refers to, without the root directory.
    var exportCount: Int { serving.read { $0.exports.count } ?? 0 }
    /// The number of question numbers that the peer has used.
    var numbersAnswered: Int { serving.read { $0.answers.numbers } ?? 0 }
    /// The number of calls of the peer that are not answered, or whose answers are kept.
    var answerCount: Int { serving.read { $0.answers.count + $0.answers.keptCount } ?? 0 }
    /// The number of calls of the peer that were cancelled and are not answered.
    var cancelledCount: Int { serving.read { $0.answers.cancelledCount } ?? 0 }
    /// Whether there are one-way messages that were lost and not reported.
    var hasLosses: Bool { rare.read { $0.oneWays.hasLosses } ?? false }
}
