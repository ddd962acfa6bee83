/// The actions that transitions of streams leave to their caller.
///
/// Only `Action` conforms. The protocol spares `Streams` the type of a conversation's host.
protocol StreamWork {
    static func stream(_ action: StreamAction) -> Self
    static func discard(_ reply: Reply) -> Self
}
