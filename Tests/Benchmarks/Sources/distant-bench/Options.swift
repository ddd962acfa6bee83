/// The options on the command line.
struct Options {
    enum Mode {
        case measure
        case help
        /// The launched side of this library, and of the floor.
        case serve
        case serveFloor(UInt32, core: CInt)
        /// Calls with and without adaptive polling.
        case polling
        /// Calls to another machine.
        case ssh([String])
        /// A launched process that computes.
        case burn
    }

    var mode = Mode.measure
    var scale = Scale.full
    var works = Work.allCases
    var spins = false
    var pollsNever = false
    /// Whether to measure only the floor.
    var isFloorOnly = false
    /// The programs of other libraries to measure in the same rounds.
    var rivals: [Rival] = []
    /// The file for a plot of the results.
    var plot: String?
    /// An earlier run to compare the results with.
    var earlier: EarlierRun?

    /// How often everything is measured; with rivals, whose programs do all their work at once, each round does.
    var passes: Int { rivals.isEmpty ? 1 : scale.rounds }
    /// The rounds within a pass.
    var rounds: Int { rivals.isEmpty ? scale.rounds : 1 }

    static let usage = """
        Usage: distant-bench [--quick] [--only WORK,...] [--floor] [--against DIR] [--plot FILE]
                             [--compare FILE]
               distant-bench archive [--quick] [--only WORK,...]
               distant-bench polling
               distant-bench [--quick] [--only WORK,...] ssh [OPTION...] HOST

        Measures calls between two processes beside the same work by bare system calls,
        and prints one JSON object a line; with “archive” writing and reading archives, see
        distant-bench archive --help; with “polling” calls with and without polling;
        with “ssh” null calls and 64 MiB to another machine, which has this executable at the same path.

          --quick      fewer and shorter samples: under a minute
          --only       only these works, separated by commas
          --floor      only the bare system calls
          --against    also the programs DIR/sdbus/sd and DIR/capnp/cp, in the same rounds
          --compare    also what has changed since the run whose output FILE is
          --plot       draw latency and throughput in an SVG file
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
            case "--floor-serve":
                guard let transport = rest.popFirst().flatMap(UInt32.init),
                    let core = rest.popFirst().flatMap(CInt.init)
                else { throw BenchError("--floor-serve needs a transport and a core after it") }
                mode = .serveFloor(transport, core: core)
            case "--against":
                guard let directory = rest.popFirst() else { throw BenchError("--against needs a directory after it") }
                rivals = Rival.all(in: directory)
            case "--compare":
                guard let file = rest.popFirst() else { throw BenchError("--compare needs a file after it") }
                earlier = try EarlierRun(file)
            case "--plot":
                guard let file = rest.popFirst() else { throw BenchError("--plot needs a file after it") }
                plot = file
            case "--spin": spins = true
            case "--no-polling": pollsNever = true
            case "--burn": mode = .burn
            case "polling": mode = .polling
            case "ssh":
                mode = .ssh(Array(rest))
                rest = []
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
