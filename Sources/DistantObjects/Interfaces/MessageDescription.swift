/// A message as its class lists it: its name, its arguments and its result.
public struct MessageDescription: Hashable, Sendable {
    /// The name that it is sent by.
    public let name: String
    /// The arguments, in order.
    public let arguments: [TypeDescription]
    /// The result; of the kind `.nothing` if there is none.
    public let result: TypeDescription

    init(_ name: String, _ arguments: [TypeDescription], _ result: TypeDescription) {
        self.name = name
        self.arguments = arguments
        self.result = result
    }
}

extension MessageDescription: CustomStringConvertible {
    /// The message as it is written in Swift: `add(Person) -> Int`.
    public var description: String { "\(name)(\(arguments.map(\.description).joined(separator: ", "))) -> \(result)" }
}
