import DistantObjects
import Foundation
import PortTransport

/// Runs a tool of many processes for a while, kills what it can, and looks whether all is as in the beginning at the end.
///
///     soak [--seconds 600] [--clients 200] [--seed N]
///     soak crowd [--idle 5000] [--busy 200] [--seconds 5]
///
/// A service has a name and is started when a client needs it. Clients, several in a process, connect by the name, call, read and send
/// streams, are called back, compare every byte, and leave or are killed; so does the service at times. Helpers are called, killed,
/// stopped by SIGSTOP and restarted meanwhile. Ends with a table of what there was, and with status 3 if a value is wrong, an error is
/// none that a kill explains, or descriptors, threads, tables, processes or files are left.
@main
struct Soak {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        var seconds = 600.0
        var clients = 200
        var seed = UInt64.random(in: 1..<1 << 40)
        var words = CommandLine.arguments.dropFirst()
        do {
            while let word = words.popFirst() {
                let value = words.popFirst() ?? ""
                switch word {
                case "service": return try await Ledger.serve(.service(value))
                case "crowd-service": return try await Crowd.serve(value)
                case "crowd": return try await Crowd([value].filter { !$0.isEmpty } + words).run()
                case "helper": return try await Ledger.help()
                case "client": return try await Visits.run(name: value, words)
                case "--seconds": seconds = Double(value) ?? seconds
                case "--clients": clients = Int(value) ?? clients
                case "--seed": seed = UInt64(value) ?? seed
                default:
                    print(
                        "usage: soak [--seconds N] [--clients N] [--seed N], or soak crowd [--idle N] [--busy N] [--seconds N]"
                    )
                    exit(2)
                }
            }
            try await Stage(clients: clients, seed: seed).run(for: .seconds(seconds))
        } catch {
            Verdict.fail("\(error), seed \(seed)")
        }
    }
}

/// How a run ends early.
enum Verdict {
    /// Prints what is wrong, and ends the process with status 3.
    static func fail(_ what: String) -> Never {
        let bytes = Array("soak: \(what)\n".utf8)
        _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
        exit(3)
    }
}
