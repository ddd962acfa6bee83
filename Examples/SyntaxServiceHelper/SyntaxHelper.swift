import DistantObjects
import ExampleConsole

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Answers the program that has launched this process, and lives as long as the connection.
@main
struct SyntaxHelper {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if UsageError.asksForHelp(arguments) {
            return Console.say("Usage: syntax-helper [BUILD]\n\nSyntaxService launches this program.")
        }
        do {
            guard arguments.count <= 1, let build = Int(arguments.first ?? "1") else {
                throw UsageError("the build is a number")
            }
            let connection = try await Connection.parent()
            try connection.vend(Syntax(build: build))
            _ = await connection.ended
        } catch let error as UsageError {
            Console.complain("syntax-helper", error)
            exit(2)
        } catch {
            Console.complain("syntax-helper", "\(error); SyntaxService launches this program")
            exit(1)
        }
    }
}
