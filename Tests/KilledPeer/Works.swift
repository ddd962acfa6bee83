import DistantObjects

/// A service of an older version than that of the test that launches the program.
final class Works: Vendable, Implements {
    typealias I = WorksInterface

    static var messages: MessageTable<Works> {
        Message(\I.run, Works.run)
        Message(\I.sort, Works.sort)
        Message(\I.jobs, Works.jobs)
        Message(\I.fail, Works.fail)
        Message(\I.ticket, Works.ticket)
    }

    /// Returns the job as this version knows it.
    func run(_ job: Job) -> Job { job }

    /// Has the caller's process run each job and fail.
    ///
    /// - Returns: What came back, under the error.
    @concurrent func sort(_ jobs: [Job]) async throws -> [String: [Job]] {
        guard let caller = Connection.current else { throw WorksError.full }
        let works = try await caller.root(as: WorksInterface.self)
        var results: [Job] = []
        for job in jobs { results.append(try await works.run(job)) }
        do {
            _ = try await works.fail("broken")
            return [:]
        } catch let error as RemoteError {
            return ["RemoteError \(error.typeName) \(error.message)": results]
        }
    }

    func jobs(_ count: Int) -> DistantStream<Job> { DistantStream([Job]()) }

    func ticket(_ number: Int) -> Ticket { Ticket(number: number) }

    func fail(_ kind: String) throws -> Int {
        switch kind {
        case "refusal": throw Refusal(reason: "too late")
        default: throw WorksError.full
        }
    }
}

struct WorksInterface: Interface {
    let run = Signature<Job, Job>("run")
    let sort = Signature<[String: [Job]], [Job]>("sort")
    let jobs = Signature<DistantStream<Job>, Int>("jobs")
    let fail = Signature<Int, String>("fail")
    let ticket = Signature<Ticket, Int>("ticket")
}

struct Job: Codable, Sendable {
    var path: String
    var mode: Mode
    var shape: Shape
}

enum Mode: String, OpenEnum {
    case fast
    case unknown
}

enum Shape: OpenEnum, Sendable {
    case circle(radius: Double)
    case unknown
}

struct Ticket: Codable {
    var number: Int
}

enum WorksError: Error, Codable {
    case full
    case noSuchJob(String)
}

struct Refusal: Error, Codable {
    var reason: String
}
