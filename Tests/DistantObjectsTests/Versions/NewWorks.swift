import DistantObjects
import Synchronization

/// The service of `Old` and its types in the next version.
enum New {
    struct Job: Codable, Hashable, Sendable {
        var path: String
        var mode: Mode
        var shape: Shape
        @Defaulted<Retries> var retries = Retries.defaultValue
        @Defaulted<Default.Empty<[String]>> var tags = []
        var note: String?

        enum Retries: DefaultValue {
            static let defaultValue = 3
        }
    }

    enum Mode: String, OpenEnum {
        case fast, exact
        case unknown
    }

    enum Shape: OpenEnum, Hashable, Sendable {
        case circle(radius: Double)
        case square(side: Double)
        case unknown
    }

    struct Ticket: Codable, Sendable {
        var number: Int
        var date: String
    }

    enum WorksError: Error, Codable, Equatable {
        case full
        case noSuchJob(String)
        case broken(part: Int)
    }

    struct Refusal: Error, Codable, Equatable {
        var text: String
    }

    struct Failure: Error, Codable, Equatable {
        var text: String
        @Defaulted<Default.Zero<Int>> var code = 7
    }

    enum Trouble: Error, OpenEnum {
        case fire, flood
        case unknown
    }

    struct WorksInterface: Interface {
        let run = Signature<Job, Job>("run")
        let sort = Signature<[String: [Job]], [Job]>("sort")
        let jobs = Signature<DistantStream<Job>, Int>("jobs")
        let fail = Signature<Int, String>("fail")
        let ticket = Signature<Ticket, Int>("ticket")
        let stop = Signature<Void>("stop", since: 2)
    }

    final class Works: Vendable, Implements {
        typealias I = WorksInterface
        let seen = Mutex<[Job]>([])

        static var messages: MessageTable<Works> {
            Message(\I.run, Works.run)
            Message(\I.sort, Works.sort)
            Message(\I.jobs, Works.jobs)
            Message(\I.fail, Works.fail)
            Message(\I.ticket, Works.ticket)
            Message(\I.stop, Works.stop)
        }

        static let all = [
            Job(path: "a", mode: .exact, shape: .circle(radius: 1), retries: 9, tags: ["x"], note: "y"),
            Job(path: "b", mode: .fast, shape: .square(side: 3)),
        ]

        func run(_ job: Job) -> Job {
            seen.withLock { $0.append(job) }
            return Job(path: job.path + ".done", mode: .exact, shape: .square(side: 2), retries: 9, note: "y")
        }

        func sort(_ jobs: [Job]) -> [String: [Job]] {
            seen.withLock { $0 += jobs }
            return ["all": Self.all]
        }

        /// The jobs, and after the last one an error.
        func jobs(_ count: Int) -> DistantStream<Job> {
            DistantStream(
                AsyncThrowingStream { continuation in
                    for job in Self.all.prefix(count) { continuation.yield(job) }
                    continuation.finish(throwing: WorksError.broken(part: count))
                })
        }

        func ticket(_ number: Int) -> Ticket { Ticket(number: number, date: "today") }

        func stop() {}

        func fail(_ kind: String) throws -> Int {
            switch kind {
            case "full": throw WorksError.full
            case "broken": throw WorksError.broken(part: 4)
            case "refusal": throw Refusal(text: "too late")
            case "failure": throw Failure(text: "no power", code: 5)
            default: throw Trouble.flood
            }
        }
    }

    static let errorTypes: [any (Error & Codable).Type] = [
        WorksError.self, Refusal.self, Failure.self, Trouble.self,
    ]
}
