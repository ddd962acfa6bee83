import DistantObjects
import TestSupport
import Testing

#if os(Linux)
    import Foundation

    @Suite("Connections that are idle", .bounded())
    struct IdleTests {
        /// How often the library's threads of this process have been switched, by themselves or by the kernel.
        static func switches() -> Int {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return threads.reduce(0) { sum, thread in
                let path = "/proc/self/task/\(thread)"
                guard String(decoding: systemContents(of: path + "/comm"), as: UTF8.self).hasPrefix("distant-") else {
                    return sum
                }
                let status = String(decoding: systemContents(of: path + "/status"), as: UTF8.self)
                return status.split(separator: "\n").filter { $0.contains("ctxt_switches") }.reduce(sum) {
                    $0 + (Int($1.split(whereSeparator: \.isWhitespace).last ?? "") ?? 0)
                }
            }
        }

        @Test(
            "A hundred of them wake no thread, also after calls that were polled",
            arguments: [0, 1, 2])
        func idleInIdle(index: Int) async {
            await #expect(processExitsWith: .success) { [index] in
                var configuration = SharingTests.always
                configuration.polling = [.off, .adaptive, .always(for: .microseconds(200))][index]
                var pairs: [(Connection, Connection)] = []
                for _ in 0..<100 {
                    let (client, server) = try await Connection.pair(
                        over: .socketpair, first: configuration, second: configuration)
                    server.vend(Directory())
                    let root = try await client.root
                    let _: Int = try await root.echo(1)
                    pairs.append((client, server))
                }
                for (client, _) in pairs.prefix(3) {
                    let root = try await client.root
                    for number in 0..<500 { let _: Int = try await root.echo(number) }
                    try await client.run { for number in 0..<500 { let _: Int = try await root.echo(number) } }
                }
                #expect(IdleTests.switches() > 0)
                // What is under way ends at some time. A thread that something wakes now and then is never quiet so long.
                var before = 0
                repeat {
                    before = IdleTests.switches()
                    try await Task.sleep(for: .milliseconds(500))
                } while IdleTests.switches() != before
                for (client, server) in pairs {
                    client.invalidate()
                    _ = await server.ended
                }
            }
        }
    }
#endif
