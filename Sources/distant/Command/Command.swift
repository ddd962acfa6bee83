import KeyedArchive

/// A parsed command line.
enum Command {
    case help
    case version
    /// - Parameter place: The place of the one value to print; nil for the whole archive.
    case dump(paths: [String], place: String?, asJSON: Bool)
    case convert(from: String, to: String, Target, isKeyed: Bool)
    case check(paths: [String], isQuiet: Bool)
    case interfaces(address: String)
    case services

    /// The target format of a conversion.
    enum Target {
        case archive(ArchiveFormat)
        case json

        /// Whether the target is made from JSON as well.
        var readsJSON: Bool { if case .archive(.typedstream) = self { true } else { false } }

        /// Whether a keyed archive can have the format.
        var isKeyed: Bool { if case .archive(let format) = self { format != .typedstream } else { false } }

        static let names: [(name: String, target: Target)] = [
            ("binary", .archive(.binary)), ("xml", .archive(.xml)), ("compact", .archive(.compact)),
            ("typedstream", .archive(.typedstream)), ("json", .json),
        ]
    }

    static let usage = """
        Usage: distant dump [--json] [--at PLACE] FILE...
               distant convert [--keyed] --to binary|xml|compact|typedstream|json IN OUT
               distant check [--quiet] FILE...
               distant interfaces ADDRESS
               distant services
               distant help | --help | --version

        Looks into archives of object graphs: those of Apple's NSKeyedArchiver, as binary property
        lists or XML, compact ones, the typedstreams of Apple's older NSArchiver, and the NIBArchives
        of compiled nibs. The format is recognised by the content.

          dump      print the objects as a tree, beginning at the archive's own keys. “#5” is an object
                    that is referred to several times, and stands in full where it is met first
            --json  print all objects in the order of the archive, with every value exact, as JSON
            --at    print one value only: PLACE has the words of the tree that lead to it, such as
                    root/players/NS.objects/0/name, or begins with an object, such as #5/name
          convert   write the same objects in another format; OUT is replaced as a whole or not at all
            --to    binary and xml are Apple's format, json is what dump --json prints. A typedstream can
                    become typedstream, json, or a property list with the tree of that json, and from
                    either a typedstream again, the same bytes. A sequential archive, which has types
                    in the place of keys, can become a typedstream too. A NIBArchive can become json,
                    or such a property list
            --keyed make a keyed archive of a typedstream, as NSKeyedArchiver would have written it; only
                    for objects of some of Foundation's classes, and there is no way back
          check     open each file and say in a line what it is, or what is wrong with it
            --quiet say only what is wrong
          interfaces
                    connect to a service, and list its roots with the messages that they answer. ADDRESS is
                    the path of a socket, the name of a service, or exec:PROGRAM, unix:PATH,
                    ssh-exec:HOST:COMMAND or ssh-unix:HOST:PATH; a program is started and ended for it
          services  list the services of this user by name: whether they run, with process, program and
                    version of the protocol

        FILE and IN may be “-” for standard input, OUT for standard output.
        The exit status is 0, or 1 if a file is bad, or 2 if the command is not understood.
        """

    /// The versions are those of the article on changes.
    static let versions = "distant, without a version number yet; wire protocol 1, compact format 1"

    init(_ arguments: [String]) throws {
        // Swift has repaired an invalid name: the repaired name is that of another file.
        if let word = arguments.first(where: { $0.unicodeScalars.contains("\u{FFFD}") }) {
            throw UsageError("“\(word)” is not text in UTF-8; a file of such a name can be read as /dev/stdin")
        }
        if arguments.contains("--help") || arguments.contains("-h") || arguments.first == "help" {
            self = .help
            return
        }
        if arguments == ["--version"] {
            self = .version
            return
        }
        guard let name = arguments.first else {
            throw UsageError("a command is needed: dump, convert, check, interfaces or services")
        }
        var words = Words(arguments.dropFirst())
        switch name {
        case "dump":
            let asJSON = words.takeFlag("--json")
            let place = try words.takeValue("--at")
            self = .dump(paths: try words.files(), place: place, asJSON: asJSON)
        case "convert":
            guard let format = try words.takeValue("--to") else {
                throw UsageError("convert needs --to with a format: binary, xml, compact, typedstream or json")
            }
            guard let target = Target.names.first(where: { $0.name == format })?.target else {
                throw UsageError("“\(format)” is not a format: --to takes binary, xml, compact, typedstream or json")
            }
            let isKeyed = words.takeFlag("--keyed")
            if isKeyed, !target.isKeyed { throw UsageError("--keyed makes binary, xml or compact only") }
            let paths = try words.rest(named: ["a file to read", "a file to write"])
            self = .convert(from: paths[0], to: paths[1], target, isKeyed: isKeyed)
        case "check":
            let isQuiet = words.takeFlag("--quiet")
            self = .check(paths: try words.files(), isQuiet: isQuiet)
        case "interfaces":
            self = .interfaces(address: try words.rest(named: ["the address of a service"])[0])
        case "services":
            _ = try words.rest(named: [])
            self = .services
        default:
            throw UsageError("“\(name)” is not a command: there are dump, convert, check, interfaces and services")
        }
    }

    func run() throws {
        switch self {
        case .help: try Console.say(Command.usage)
        case .version: try Console.say(Command.versions)
        case .dump(let paths, let place, let asJSON): try dump(paths, place, asJSON)
        case .convert(let source, let target, let format, let isKeyed):
            try convert(source, target, format, isKeyed: isKeyed)
        case .check(let paths, let isQuiet): try check(paths, isQuiet: isQuiet)
        case .interfaces(let address): try interfaces(address)
        case .services: try services()
        }
    }
}
