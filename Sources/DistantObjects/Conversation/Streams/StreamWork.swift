/// The actions that transitions of streams leave to their caller; those of a conversation are the only ones.
protocol StreamWork {
    static func stream(_ action: StreamAction) -> Self
    static func discard(_ reply: Reply) -> Self
}

extension Action: StreamWork {}
