extension MessageTable {
    /// Builds a table from a list of messages.
    @resultBuilder
    public enum Builder {
        /// One message.
        public static func buildExpression(_ message: Message<Target>) -> [Message<Target>] { [message] }
        /// Not for use: the compiler answers it with the way to list messages of a subclass.
        @available(
            *, unavailable,
            message: "the message is of another class; a subclass adds it with `super.messages.extended(by: ...)`"
        )
        public static func buildExpression<Other: AnyObject>(_ message: Message<Other>) -> [Message<Target>] {
            fatalError("the compiler refuses each use")
        }

        /// All of them in order.
        ///
        /// - Complexity: Linear in the number of messages.
        public static func buildBlock(_ messages: [Message<Target>]...) -> [Message<Target>] {
            var all: [Message<Target>] = []
            // Going through them one by one costs no search of conformances when a program starts.
            for some in messages { for message in some { all.append(message) } }
            return all
        }
        /// Messages under a condition.
        public static func buildOptional(_ messages: [Message<Target>]?) -> [Message<Target>] { messages ?? [] }
        /// The first of two alternatives.
        public static func buildEither(first messages: [Message<Target>]) -> [Message<Target>] { messages }
        /// The second of two alternatives.
        public static func buildEither(second messages: [Message<Target>]) -> [Message<Target>] { messages }
        /// The table.
        public static func buildFinalResult(_ messages: [Message<Target>]) -> MessageTable<Target> {
            MessageTable(messages)
        }
        /// A table made elsewhere.
        public static func buildFinalResult(_ table: MessageTable<Target>) -> MessageTable<Target> { table }
        /// A table made elsewhere.
        public static func buildBlock(_ table: MessageTable<Target>) -> MessageTable<Target> { table }
        /// A table made elsewhere.
        public static func buildExpression(_ table: MessageTable<Target>) -> MessageTable<Target> { table }
    }
}
