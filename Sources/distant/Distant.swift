#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The command-line tool: inspects archives, checks them and converts them.
///
/// Exits with 0 on success, with 1 if a file cannot be read, understood or written, and with 2 if the command line is
/// not understood.
@main
struct Distant {
    static func main() {
        do {
            StandardStreams.reserve()
            try Command(Array(CommandLine.arguments.dropFirst())).run()
        } catch is Command.BadFiles {
            // Each file was already reported, with its problem.
            exit(1)
        } catch let error as UsageError {
            Console.complain("\(error); see distant --help")
            exit(2)
        } catch {
            Console.complain("\(error)")
            exit(1)
        }
    }
}
