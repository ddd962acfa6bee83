// swift-format-ignore-file
// It is laid out as Versions.md shows it.

import DistantObjects
import KeyedArchive

/// The code of Versions.md.
enum VersionsCode {
    static func configuration() -> Connection.Configuration {
        // Versions.md: too old
        var configuration = Connection.Configuration()
        configuration.programVersion = "2.1"
        configuration.accept = Connection.AcceptRule { peer, program in
            guard program.version == "2.1" else { return "\(program) was installed beside a tool of version 2.1" }
            return peer?.isOfThisUser == false ? "another user" : nil
        }
        // end
        return configuration
    }

    enum First {
        // Versions.md: first
        struct Job: Codable {
            var path: String
            var mode: Mode
        }

        enum Mode: String, OpenEnum {
            case fast
            case unknown
        }
        // end

        // Versions.md: switch
        func isSupported(_ job: Job) -> Bool {
            switch job.mode {
            case .fast: true
            case .unknown: false
            }
        }
        // end

        enum WorksError: Error, Codable {
            case full
        }

        struct WorksInterface: Interface {
            let run = Signature<Job, Job>("run")
        }

        // Versions.md: errors
        func run(_ job: Job, on works: Remote<WorksInterface>) async throws -> String {
            do {
                return try await works.run(job).path
            } catch WorksError.full {
                return "full"
            } catch let error as RemoteError where error.decodingFailure != nil {
                return "\(error.typeName): \(error.message)"
            }
        }
        // end

        case only
    }

    enum Second {
        // Versions.md: second
        struct Job: Codable {
            var path: String
            var mode: Mode
            var note: String?
            @Defaulted<Retries> var retries = Retries.defaultValue
            @Defaulted<Default.Empty<[String]>> var tags = []

            enum Retries: DefaultValue {
                static let defaultValue = 3
            }
        }

        enum Mode: String, OpenEnum {
            case fast, exact
            case unknown
        }
        // end

        enum WorksError: Error, Codable {
            case full
            case broken(part: Int)
        }

        struct WorksInterface: Interface {
            let run = Signature<Job, Job>("run")
        }

        final class Works: Vendable, Implements {
            typealias I = WorksInterface

            static var messages: MessageTable<Works> { Message(\I.run, Works.run) }

            func run(_ job: Job) throws -> Job {
                switch job.path {
                case "full": throw WorksError.full
                case "broken": throw WorksError.broken(part: job.retries)
                default: return Job(path: job.path + ".done", mode: .exact, retries: 9, tags: ["new"])
                }
            }
        }
    }

    // Versions.md: main actor
    struct Order: nonisolated Codable, Sendable {
        var name: String
        @Defaulted<Count> var count = Count.defaultValue

        nonisolated enum Count: DefaultValue {
            static let defaultValue = 1
        }
    }
    // end

    // Versions.md: archives
    final class Shelf: ObjectCoding {
        let name: String
        let capacity: Int

        init(name: String, capacity: Int) {
            self.name = name
            self.capacity = capacity
        }

        init(coder: ObjectDecoder) throws {
            name = try coder.decode(String.self, forKey: "name")
            capacity = try coder.decode(Int.self, forKey: "capacity", default: 100)
        }

        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(name, forKey: "name")
            try coder.encode(capacity, forKey: "capacity")
        }
    }
    // end

    /// A shelf without the later key.
    enum OldShelf {
        final class Shelf: ObjectCoding {
            let name: String
            init(name: String) { self.name = name }
            init(coder: ObjectDecoder) throws { name = try coder.decode(String.self, forKey: "name") }
            func encode(with coder: ObjectEncoder) throws { try coder.encode(name, forKey: "name") }
        }
    }

    static func upgrade() throws -> Second.Job {
        // Versions.md: test
        let bytes = try KeyedArchiver.archive(First.Job(path: "a", mode: .fast))
        let job = try KeyedUnarchiver.unarchive(Second.Job.self, from: bytes)
        // end
        return job
    }
}
