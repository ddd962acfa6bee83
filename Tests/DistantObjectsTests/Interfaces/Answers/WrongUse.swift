/// A piece of source, and what the compiler says to it.
struct WrongUse {
    /// Where the piece stands.
    enum Place {
        /// In a function with remotes and a connection.
        case call
        /// A line of a table of `Directory`.
        case line
        /// Declarations in a scope of their own.
        case declarations
    }

    let place: Place
    let text: String
    /// Parts of the answers that the compiler has to give; none if the piece is right.
    let answers: [String]

    private init(_ place: Place, _ text: String, _ answers: [String]) {
        (self.place, self.text, self.answers) = (place, text, answers)
    }

    static func call(_ text: String, _ answers: String...) -> WrongUse { WrongUse(.call, text, answers) }
    static func line(_ text: String, _ answers: String...) -> WrongUse { WrongUse(.line, text, answers) }
    static func declarations(_ text: String, _ answers: String...) -> WrongUse {
        WrongUse(.declarations, text, answers)
    }

    /// The piece in a function or a scope of its own, so that one error does not hide the next.
    func source(_ number: Int) -> String {
        switch place {
        case .call:
            """
            func use\(number)(
                _ directory: Remote<DirectoryInterface>, _ admin: Remote<AdminInterface>, _ connection: Connection,
                _ object: DistantObject, _ person: Person, _ stream: DistantStream<Int>
            ) async throws {
            \(text)
            }

            """
        case .line:
            """
            final class Table\(number): Vendable {
                static var messages: MessageTable<Directory> {
            \(text)
                }
            }

            """
        case .declarations: "enum Scope\(number) {\n\(text)\n}\n"
        }
    }

    /// What the pieces are written against.
    static let world = """
        import DistantObjects
        import KeyedArchive

        nonisolated struct Person: Codable, Sendable { var name = "" }
        struct Plain: Sendable { var name = "" }
        protocol Shape: Codable {}
        struct PersonInterface: Interface { let rename = Signature<Void, String>("rename") }
        struct DirectoryInterface: Interface {
            let add = Signature<Int, Person>("add")
            let find = Signature<Remote<PersonInterface>?, String>("find")
            let range = Signature<String, Int, Int>("range")
            let clear = Signature<Void>("clear")
            let changes = Signature<DistantStream<Int>>("changes")
            let watch = Signature<Void, Remote<PersonInterface>>("watch")
            let note = "no message"
        }
        struct AdminInterface: Extending {
            typealias Base = DirectoryInterface
            let stop = Signature<Void>("stop")
        }
        final class PersonObject: Vendable, Implements {
            typealias I = PersonInterface
            static var messages: MessageTable<PersonObject> {
                Message(\\I.rename) { (_: PersonObject) in { (_: String) in } }
            }
        }
        final class Directory: Sendable {
            let count = 3
            func add(_ person: Person) -> Int { 1 }
            func addName(_ name: String) -> Int { 1 }
            func addLater(_ name: String) async throws -> Int { 1 }
            func range(_ from: Int, _ to: Int) -> Substring { "" }
            func none() {}
            func texts() -> AsyncStream<String> { AsyncStream { $0.finish() } }
            func array() -> [Int] { [] }
            func plain() -> Plain { Plain() }
            func take(_ plain: Plain) {}
            func pair() -> (Int, Int) { (1, 2) }
            func unsafe() -> Guarded { Guarded() }
        }
        final class Other: Sendable { func rename() {} }
        class Guarded: AsyncSequence, AsyncIteratorProtocol {
            func next() async -> Int? { nil }
            func makeAsyncIterator() -> Guarded { self }
        }

        """
}
