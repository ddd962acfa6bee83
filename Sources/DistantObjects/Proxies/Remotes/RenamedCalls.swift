// The names that calls had before: the compiler answers them with those of today.
extension RemoteMethod where Result: Codable {
    /// Not for use: the compiler answers it with the word of today.
    ///
    /// - Throws: Nothing, since the compiler refuses each use.
    @available(*, unavailable, message: "the label is `timeout:`, as in `remote.count(text, timeout: .seconds(5))`")
    public func callAsFunction(_ argument: repeat each Argument, deadline: Duration?) async throws -> Result {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with the way of today.
    ///
    /// - Throws: Nothing, since the compiler refuses each use.
    @available(*, unavailable, message: "call the message itself: `remote.count(text, timeout: .seconds(5))`")
    public func call(_ argument: repeat each Argument, deadline: Duration?) async throws -> Result {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with the way of today.
    ///
    /// - Throws: Nothing, since the compiler refuses each use.
    @available(*, unavailable, message: "call the message itself: `remote.count(text, timeout: .seconds(5))`")
    public func call(_ argument: repeat each Argument, timeout: Duration? = nil) async throws -> Result {
        fatalError("the compiler refuses each use")
    }
}

extension RemoteMethod where Result == Void {
    /// Not for use: the compiler answers it with the word of today.
    ///
    /// - Throws: Nothing, since the compiler refuses each use.
    @available(*, unavailable, message: "the label is `timeout:`, as in `remote.clear(timeout: .seconds(5))`")
    public func callAsFunction(_ argument: repeat each Argument, deadline: Duration?) async throws {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with the way of today.
    ///
    /// - Throws: Nothing, since the compiler refuses each use.
    @available(*, unavailable, message: "call the message itself: `remote.clear(timeout: .seconds(5))`")
    public func call(_ argument: repeat each Argument, deadline: Duration?) async throws {
        fatalError("the compiler refuses each use")
    }

    /// Not for use: the compiler answers it with the way of today.
    ///
    /// - Throws: Nothing, since the compiler refuses each use.
    @available(*, unavailable, message: "call the message itself: `remote.clear(timeout: .seconds(5))`")
    public func call(_ argument: repeat each Argument, timeout: Duration? = nil) async throws {
        fatalError("the compiler refuses each use")
    }
}
