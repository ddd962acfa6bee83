import KeyedArchive

// Promises: the result of a message as the target or an argument of further messages, before it has come.
extension RemoteMessage {
    /// Sends the message and returns a proxy for its result at once: for calls to an object that has not come yet.
    ///
    /// Messages to the proxy are sent at once, too, so that several calls that depend on each other take one round trip:
    ///
    /// ```swift
    /// let person = directory.find.promise("Ada")
    /// try await person.rename("Countess of Lovelace")
    /// ```
    ///
    /// The result has to be an object by reference, and only the whole result: not one within an array or a struct. The
    /// proxy can be sent to the same process as an argument. Then that call, and later messages to the same object, wait
    /// there until the result is known. `DistantObject.resolved()` waits for the result here. A result `nil` counts as a
    /// failure.
    ///
    /// If the message fails, everything that was sent to the promise fails with the same error. This function throws nothing:
    /// if the message cannot be sent, messages to the promise throw the reason. Once the promise and all messages to it are
    /// let go, the method is cancelled if it still runs.
    ///
    /// - Returns: A proxy that is a promise. A connection holds at most 4,096 of them.
    @inlinable
    public func promise<each Argument: Codable>(_ argument: repeat each Argument) -> DistantObject {
        if place.follows { return place.followingPromise { at($0).promise(repeat each argument) } }
        do {
            return try promised(encoded(repeat each argument, timeout: nil))
        } catch {
            return failedPromise(error)
        }
    }

    @usableFromInline
    func failedPromise(_ error: any Error) -> DistantObject { DistantObject(promised: .failed(error)) }

    @usableFromInline
    func promised(_ message: consuming OutboundMessage) throws -> DistantObject {
        let connection = try heldConnection()
        message.hold(place)
        passContext(on: message, over: connection)
        return try connection.sendPromise(message)
    }
}

extension DistantObject {
    /// The object that a promise has become, once the result is there; the proxy itself if it is no promise.
    ///
    /// Messages that are sent to the returned proxy start after those that were sent to the promise before.
    ///
    /// - Returns: A proxy for the object, or for an object of this process if the result is one.
    /// - Throws: The error of the message whose result it is; what a message to the object could throw.
    public func resolved() async throws -> DistantObject {
        place.promise == nil ? self : try await message("")()
    }

    /// The object that a promise has become, as `resolved()`, for plain threads: blocks until the result is there.
    ///
    /// - Throws: As `resolved()`; `ConnectionError.wouldBlock` on an event loop's thread and in a task.
    public func blockingResolved() throws -> DistantObject {
        place.promise == nil ? self : try message("").blocking()
    }
}
