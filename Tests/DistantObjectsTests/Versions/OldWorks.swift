import DistantObjects
import Synchronization

/// A service and its types as programs of the first version declare them.
enum Old {
    struct Job: Codable, Hashable, Sendable {
        var path: String
        var mode: Mode
        var shape: Shape
    }

    enum Mode: String, OpenEnum {
        case fast
        case unknown
    }

    enum Shape: OpenEnum, Hashable, Sendable {
        case circle(radius: Double)
        case unknown
    }

    /// A new version adds a field to it without a default.
    struct Ticket: Codable, Sendable {
        var number: Int
    }

    /// An error that gets another case.
    enum WorksError: Error, Codable, Equatable {
        case full
        case noSuchJob(String)
    }

    /// An error whose field gets another name.
    struct Refusal: Error, Codable, Equatable {
        var reason: String
    }

    /// An error that gets a field with a default.
    struct Failure: Error, Codable, Equatable {
        var text: String
    }

    /// An error that is open for more cases.
    enum Trouble: Error, OpenEnum {
        case fire
        case unknown
    }

    struct WorksInterface: Interface {
        let run = Signature<Job, Job>("run")
        let sort = Signature<[String: [Job]], [Job]>("sort")
        let jobs = Signature<DistantStream<Job>, Int>("jobs")
        let fail = Signature<Int, String>("fail")
        let ticket = Signature<Ticket, Int>("ticket")
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
        }

        static let all = [
            Job(path: "a", mode: .fast, shape: .circle(radius: 1)), Job(path: "b", mode: .fast, shape: .unknown),
        ]

        func run(_ job: Job) -> Job {
            seen.withLock { $0.append(job) }
            return Job(path: job.path + ".done", mode: .fast, shape: .circle(radius: 2))
        }

        func sort(_ jobs: [Job]) -> [String: [Job]] {
            seen.withLock { $0 += jobs }
            return ["all": Self.all]
        }

        func jobs(_ count: Int) -> DistantStream<Job> { DistantStream(Self.all.prefix(count)) }

        func ticket(_ number: Int) -> Ticket { Ticket(number: number) }

        func fail(_ kind: String) throws -> Int {
            switch kind {
            case "full": throw WorksError.full
            case "refusal": throw Refusal(reason: "too late")
            case "failure": throw Failure(text: "no power")
            default: throw Trouble.fire
            }
        }
    }

    static let errorTypes: [any (Error & Codable).Type] = [
        WorksError.self, Refusal.self, Failure.self, Trouble.self,
    ]
}
