// ComingFromJSON.md: JSON worker
import Formatting

@main
struct Worker {
    static func main() {
        if CommandLine.arguments.contains("--verbose") { print("the worker has started") }
        JSONService().serve()
    }
}
// end
