// A module whose declarations are on the main actor unless they say otherwise.
extension WrongUse {
    static let inMainActorModule: [WrongUse] = [
        .declarations(
            """
            struct Value: Codable, Sendable { var x = 1 }
            struct I: Interface { let p = Signature<Void, Value>("p") }
            """, "main actor-isolated conformance of 'Scope0.Value' to 'Decodable' cannot satisfy"),
        .declarations(
            """
            struct Value: Codable, Sendable { var x = 1 }
            struct I: Interface { let p = Signature<Value>("p") }
            """, "main actor-isolated conformance of 'Scope1.Value' to 'Decodable' cannot satisfy"),
        .declarations(
            """
            @MainActor final class B: Vendable {
                var count = 0
                static var messages: MessageTable<B> { Message("clear", B.clear) }
                func clear() { count = 0 }
            }
            """, "conformance of 'Scope2.B' to protocol 'Vendable' crosses into main actor-isolated code"),
        // What the compiler offers then is refused as well, and does not wait for the program to run.
        .declarations(
            """
            @MainActor final class B: @preconcurrency Vendable {
                var count = 0
                static var messages: MessageTable<B> { Message("clear", B.clear) }
                func clear() { count = 0 }
            }
            """, "conformance of 'Scope3.B' to protocol 'Vendable' involves isolation mismatches"),
        .declarations(
            """
            @MainActor final class B: @MainActor Vendable {
                var count = 0
                static var messages: MessageTable<B> { Message("clear", B.clear) }
                func clear() { count = 0 }
            }
            """, "cannot form main actor-isolated conformance of 'Scope4.B'"),
        .declarations(
            """
            @MainActor struct I: @preconcurrency Interface {
                let p = Signature<Int>("p")
                init() {}
            }
            """, "conformance of 'Scope5.I' to protocol 'Interface' involves isolation mismatches"),
        .declarations(
            """
            @MainActor final class B: @preconcurrency ObjectCoding {
                init(coder: ObjectDecoder) throws {}
                func encode(with coder: ObjectEncoder) throws {}
            }
            """, "conformance of 'Scope6.B' to protocol 'ObjectCoding' involves isolation mismatches"),
        .declarations(
            """
            @MainActor enum Colour: String, @preconcurrency OpenEnum {
                case red, other
                static var unknown: Colour { .other }
            }
            """, "to protocol 'OpenEnum' involves isolation mismatches"),
        .declarations(
            """
            @MainActor enum Count: @preconcurrency DefaultValue {
                static var defaultValue: Int { 1 }
            }
            """, "to protocol 'DefaultValue' involves isolation mismatches"),
        // As the guide shows it.
        .declarations(
            """
            nonisolated struct Value: Codable, Sendable { var x = 1 }
            struct I: Interface { let p = Signature<Value, Value>("p") }
            enum Fault: Error, Codable { case fault }
            @MainActor final class B: Vendable, Implements {
                typealias I = Scope9.I
                var count = 0
                nonisolated static var messages: MessageTable<B> { Message(\\I.p, B.p) }
                func p(_ value: Value) -> Value { count += 1; return value }
            }
            final class C: Vendable, Implements {
                typealias I = Scope9.I
                static var messages: MessageTable<C> { Message(\\I.p, C.p) }
                func p(_ value: Value) -> Value { value }
            }
            nonisolated final class D: ObjectCoding {
                var count = 0
                init(coder: ObjectDecoder) throws { count = try coder.decode(Int.self, forKey: "count") }
                func encode(with coder: ObjectEncoder) throws { try coder.encode(count, forKey: "count") }
            }
            nonisolated enum Colour: String, OpenEnum { case red, unknown }
            """),
    ]
}
