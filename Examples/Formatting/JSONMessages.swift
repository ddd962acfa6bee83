// ComingFromJSON.md: JSON messages
/// What the tool asks: a line of JSON on standard input.
package enum Request: Codable {
    case format(id: Int, text: String)
    case check(id: Int, paths: [String])
    case cancel(id: Int)
}

/// What the worker says: a line of JSON on standard output.
package enum Reply: Codable {
    case formatted(id: Int, text: String)
    case checked(id: Int, count: Int)
    case progress(id: Int, done: Int)
    case failed(id: Int, message: String)
}
// end
