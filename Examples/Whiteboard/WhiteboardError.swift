/// What must not happen at the whiteboard.
struct WhiteboardError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
