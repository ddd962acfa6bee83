import ExampleConsole
import FooBar
import Foundation
import KeyedArchive

/// A program that saves its state, a Foo and a Bar, in one archive and restores it at the next start.
@main
struct AppState {
    static func main() {
        Console.reserveDescriptors()
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            if options.wantsHelp {
                Console.say(Options.usage)
            } else {
                try run(options)
            }
            try Console.checkOutput()
        } catch let error as UsageError {
            Console.complain("AppState", error)
            exit(2)
        } catch {
            Console.complain("AppState", "\(error)")
            exit(1)
        }
    }

    private static func run(_ options: Options) throws {
        let file = StateFile(url: URL(fileURLWithPath: options.path))
        var state = try restore(file)
        if let format = options.format { state.format = format }
        try file.save(state)
        Console.say("saved in \(options.path), \(state.format)")
    }

    /// The saved state, a year older; or a new state if there is none or it cannot be read.
    private static func restore(_ file: StateFile) throws -> State {
        do {
            if var state = try file.restore() {
                // The file may come from anywhere and contain anything.
                if state.runs < .max { state.runs += 1 }
                show("\(Ordinal(state.runs)) run", state)
                state.celebrate()
                show("a year later", state)
                return state
            }
        } catch let error as StateFile.Damaged {
            let aside = try file.keepAside()
            Console.complain("AppState", "\(error); it is kept as \(aside.path)")
        }
        let state = State()
        show("first run", state)
        return state
    }

    private static func show(_ title: String, _ state: State) {
        Console.say("\(title): myfoo is \(state.foo); mybar has \(state.bar)")
    }
}

/// An ordinal number: 1st, 2nd, 3rd, 11th, 21st.
struct Ordinal: CustomStringConvertible {
    let number: Int

    init(_ number: Int) { self.number = number }

    var description: String {
        let isTeen = (11...13).contains(number % 100)
        let ending = isTeen ? "th" : [1: "st", 2: "nd", 3: "rd"][number % 10] ?? "th"
        return "\(number)\(ending)"
    }
}
