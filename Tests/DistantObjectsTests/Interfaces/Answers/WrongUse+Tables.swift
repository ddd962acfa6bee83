// Lines of message tables.
extension WrongUse {
    private static let differs = "the method's arguments or result differ from the signature"
    private static let resultDiffers = "the method's result differs from the signature, or is not Codable"
    private static let notCodable = "the method's arguments or its result are not Codable"

    static let lines: [WrongUse] = [
        .line("Message(\\DirectoryInterface.add, Directory.addName)", differs),
        .line("Message(\\DirectoryInterface.add, Directory.addLater)", differs),
        .line("Message(\\DirectoryInterface.add, Directory.none)", differs),
        .line("Message(\\DirectoryInterface.find, Directory.add)", differs),
        .line("Message(\\DirectoryInterface.range, Directory.range)", resultDiffers),
        .line("Message(\\DirectoryInterface.clear, Directory.plain)", resultDiffers),
        .line(
            "Message(\\DirectoryInterface.changes, Directory.array)",
            "the signature says a stream, the method returns an array; return `DistantStream(array)`"),
        .line("Message(\\DirectoryInterface.changes, Directory.texts)", resultDiffers),
        // The sequence is not Sendable.
        .line(
            "Message(\\DirectoryInterface.changes, Directory.unsafe)", "'Guarded' does not conform to the 'Sendable'"),
        .line(
            "Message(\"rename\", Other.rename)",
            "the message is of another class; a subclass adds it with `super.messages.extended(by: ...)`"),
        .line("Message(\\DirectoryInterface.nope, Directory.none)", "'DirectoryInterface' has no member 'nope'"),
        .line("Message(\\DirectoryInterface.clear, Directory.nope)", "type 'Directory' has no member 'nope'"),
        .line("Message(\\DirectoryInterface.clear, Directory.count)", "instance member 'count' cannot be used on type"),
        .line("Message(\"take\", Directory.take)", notCodable),
        .line("Message(\"plain\", Directory.plain)", notCodable),
        .line("Message(\"pair\", Directory.pair)", notCodable),
        // What is wrong within a closure is said of the closure.
        .line(
            "Message(\\DirectoryInterface.add) { (d: Directory, p: Person) in d.nope(p) }",
            "value of type 'Directory' has no member 'nope'"),
        // The guide says that types in the closure help.
        .line(
            "Message(\\DirectoryInterface.add) { $0.nope($1) }", "cannot infer type of closure parameter '$0' without"),
        .line(
            "Message(\\DirectoryInterface.add) { (d: Directory) in { (name: String) in d.add(name) } }",
            "cannot convert value of type 'String' to expected argument type 'Person'"),
        .line(
            "Message(\\DirectoryInterface.range) { $0.range($1, $2) }",
            "cannot convert value of type 'Substring' to closure result type 'String'"),
        // Right lines.
        .line("Message(\\DirectoryInterface.add, Directory.add)"),
        .line("Message(\\DirectoryInterface.add) { $0.add($1) }"),
        .line("Message(\\DirectoryInterface.clear) { $0.none() }"),
        .line("Message(\\DirectoryInterface.range) { String($0.range($1, $2)) }"),
        .line("Message(\"addLater\") { try await $0.addLater($1) }"),
        .line("Message(\"none\") { $0.none() }"),
    ]

    /// Classes with their tables.
    static let classes: [WrongUse] = [
        .declarations(
            """
            final class B: Vendable, Implements {
                static var messages: MessageTable<B> { Message(\\DirectoryInterface.clear, B.clear) }
                func clear() {}
            }
            """, "type 'Scope0.B' does not conform to protocol 'Implements'"),
        .declarations(
            """
            class B: Vendable {
                static var messages: MessageTable<B> { Message("clear", B.clear) }
                func clear() {}
            }
            """, "non-final class 'B' cannot conform to the 'Sendable' protocol"),
        .declarations(
            """
            final class B: Vendable {
                var count = 0
                static var messages: MessageTable<B> { Message("clear", B.clear) }
                func clear() { count = 0 }
            }
            """, "stored property 'count' of 'Sendable'-conforming class 'B' is mutable"),
        .declarations(
            """
            class Base: Vendable, @unchecked Sendable {
                class var messages: MessageTable<Base> { Message("a", Base.a) }
                func a() -> Int { 1 }
            }
            final class Sub: Base, @unchecked Sendable {
                static var messages: MessageTable<Sub> { Message("b", Sub.b) }
                func b() -> Int { 2 }
            }
            final class Added: Base, @unchecked Sendable {
                override class var messages: MessageTable<Base> { Message("b", Added.b) }
                func b() -> Int { 2 }
            }
            """, "cannot override a property with type 'MessageTable<Scope3.Base>'",
            "cannot convert return expression of type 'Message<Scope3.Added>'"),
        .declarations(
            """
            class Base: Vendable, @unchecked Sendable {
                class var messages: MessageTable<Base> { Message("a", Base.a) }
                func a() -> Int { 1 }
            }
            final class One: Base, @unchecked Sendable {
                override class var messages: MessageTable<Base> { super.messages.extended(by: Message("b", One.b)) }
                func b() -> Int { 2 }
            }
            final class More: Base, @unchecked Sendable {
                override class var messages: MessageTable<Base> {
                    super.messages.extended(
                        by: MessageTable<More> {
                            Message("b", More.b)
                            Message("c", More.c)
                        })
                }
                func b() -> Int { 2 }
                func c() -> Int { 2 }
            }
            """),
        // An overloaded method, a generic class, a typed error, defaults of parameters.
        .declarations(
            """
            enum Fault: Error { case fault }
            struct BoxInterface<T: Codable & Sendable>: Interface { let get = Signature<T>("get") }
            final class Box<T: Codable & Sendable>: Vendable, Implements {
                typealias I = BoxInterface<T>
                let value: T
                init(_ value: T) { self.value = value }
                static var messages: MessageTable<Box<T>> { Message(\\I.get, Box.get) }
                func get() -> T { value }
            }
            final class B: Vendable, Implements {
                typealias I = DirectoryInterface
                static var messages: MessageTable<B> {
                    Message(\\I.add, B.add)
                    Message(\\I.clear, B.clear)
                    Message("range", B.range)
                }
                func add(_ person: Person) -> Int { 1 }
                func add(_ name: String) -> Int { 1 }
                func clear() throws(Fault) { throw .fault }
                func range(_ a: Int, _ b: Int = 2, label c: Int = 3) -> String { "" }
            }
            """),
        // A line of the base is written with the base.
        .declarations(
            """
            final class B: Vendable, Implements {
                typealias I = AdminInterface
                static var messages: MessageTable<B> {
                    Message(\\I.Base.clear, B.clear)
                    Message(\\I.stop, B.stop)
                }
                func clear() {}
                func stop() {}
            }
            """),
        // An object that can change goes by copy, so what the method changes is not the caller's.
        .declarations(
            """
            final class Doc: Codable { var x = 1 }
            struct DocInterface: Interface { let take = Signature<Doc, Doc>("take") }
            final class B: Vendable, Implements {
                typealias I = DocInterface
                static var messages: MessageTable<B> { Message(\\I.take, B.take) }
                func take(_ doc: Doc) -> Doc { doc }
            }
            """),
    ]

    static let isolated: [WrongUse] = [
        .declarations(
            """
            actor B: Vendable, Implements {
                typealias I = DirectoryInterface
                static var messages: MessageTable<B> { Message(\\I.clear, B.clear) }
                func clear() {}
            }
            """, "list an actor's method as a closure: `Message(\\I.deposit) { await $0.deposit($1) }`"),
        .declarations(
            """
            actor B: Vendable {
                static var messages: MessageTable<B> { Message("clear", B.clear) }
                func clear() {}
            }
            """, "list an actor's method as a closure: `Message(\"deposit\") { await $0.deposit($1) }`"),
        .declarations(
            """
            actor B: Vendable, Implements {
                typealias I = DirectoryInterface
                static var messages: MessageTable<B> {
                    Message(\\I.clear) { await $0.clear() }
                    Message(\\I.add) { await $0.add($1) }
                    Message(\\I.range) { (b: B) in { (from: Int, to: Int) in await b.range(from, to) } }
                    Message("name") { await $0.range($1, $2) }
                    Message(\\I.find) { b, name in
                        guard await b.range(1, 2) == name else { return nil }
                        return Remote(vending: PersonObject())
                    }
                }
                func clear() {}
                func add(_ person: Person) -> Int { 1 }
                func range(_ from: Int, _ to: Int) -> String { "" }
            }
            """),
        .declarations(
            """
            @MainActor final class B: Vendable, Implements {
                typealias I = DirectoryInterface
                var count = 0
                static var messages: MessageTable<B> { Message(\\I.clear, B.clear) }
                func clear() { count = 0 }
            }
            """),
        .declarations(
            """
            @MainActor final class B: @preconcurrency Vendable {
                var count = 0
                static var messages: MessageTable<B> { Message("clear", B.clear) }
                func clear() { count = 0 }
            }
            """, "warning: '@preconcurrency' on conformance to 'Vendable' has no effect"),
        .declarations(
            """
            @MainActor final class B: @preconcurrency ObjectCoding {
                var count = 0
                init(coder: ObjectDecoder) throws {}
                func encode(with coder: ObjectEncoder) throws { try coder.encode(count, forKey: "count") }
            }
            """, "main actor-isolated property 'count' can not be referenced from a nonisolated context"),
        // The compiler takes it, and a value that is decoded ends the program. The guide warns of it.
        .declarations(
            """
            @MainActor struct Value: @preconcurrency Codable, Sendable {
                var x = 1
                init(from decoder: any Decoder) throws { x = try decoder.singleValueContainer().decode(Int.self) }
                func encode(to encoder: any Encoder) throws { try x.encode(to: encoder) }
            }
            struct I: Interface { let get = Signature<Value>("get") }
            """),
        // The compiler takes the first line, and the method runs off its actor. The second is right.
        .declarations(
            """
            @globalActor actor Ledger { static let shared = Ledger() }
            @Ledger final class B: Vendable {
                var count = 0
                static var messages: MessageTable<B> {
                    Message("clear", B.clear)
                    Message("clear") { await $0.clear() }
                }
                func clear() { count = 0 }
            }
            """),
    ]
}
