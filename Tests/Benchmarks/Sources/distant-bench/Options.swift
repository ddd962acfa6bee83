/// The options on the command line.
struct Options {
    enum Mode {
        case measure
        case help
        /// The launched side of this library, and of the floor.
        case serve
        case serveFloor
    }

    var mode = Mode.measure
    var scale = Scale.full
    var works = Work.allCases
    var spins = false
    /// Whether to measure only the floor.
    var isFloorOnly = false

    static let usage = """
        Usage: distant-bench [--quick] [--only WORK,...] [--floor]
               distant-bench archive [--quick] [--only WORK,...]

        Measures calls between two processes beside the same work by bare system calls,
        and prints one JSON object a line; with “archive” writing and reading archives, see
        distant-bench archive --help.

          --quick      fewer and shorter samples: under a minute
          --only       only these works, separated by commas
          --floor      only the bare system calls
          --help       this text

        Works: \(Work.allCases.map(\.rawValue).joined(separator: ", "))
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": scale = .quick
            case "--help", "-h": mode = .help
            case "--floor": isFloorOnly = true
            case "--serve": mode = .serve
            case "--floor-serve": mode = .serveFloor
            case "--spin": spins = true
            case "--only":
                guard let list = rest.popFirst() else { throw BenchError("--only needs the names of works after it") }
                works = try list.split(separator: ",").map { name in
                    guard let work = Work(rawValue: String(name)) else {
                        throw BenchError("there is no work named \(name); see --help")
                    }
                    return work
                }
            default:
                throw BenchError("\(argument) is not understood; see --help")
            }
        }
    }
}
