/// What `distant-bench archive` measures.
enum ArchiveWork: String, CaseIterable {
    case objects
    case codable
    case data
    case open
    case chain
    case bodies
    case memory
}

/// The options of `distant-bench archive`.
struct ArchiveOptions {
    var isQuick = false
    var works = ArchiveWork.allCases
    /// The work and files of a launched process.
    var child: [String]?
    var wantsHelp = false

    /// Samples of each kind, taken in turns; their median is reported.
    var rounds: Int { isQuick ? 3 : 9 }

    static let usage = """
        Usage: distant-bench archive [--quick] [--only WORK,...]

        Measures writing and reading archives beside other coders, and prints one JSON object a line.

        Works: \(ArchiveWork.allCases.map(\.rawValue).joined(separator: ", "))
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": isQuick = true
            case "--help", "-h": wantsHelp = true
            case "--child":
                child = Array(rest)
                rest = []
            case "--only":
                guard let list = rest.popFirst() else { throw BenchError("--only needs the names of works after it") }
                works = try list.split(separator: ",").map { name in
                    guard let work = ArchiveWork(rawValue: String(name)) else {
                        throw BenchError("there is no work named \(name); see distant-bench archive --help")
                    }
                    return work
                }
            default: throw BenchError("\(argument) is not understood; see distant-bench archive --help")
            }
        }
    }
}
