import PortTransport

// The host of `Conversation`: it gives access to the channel, the loop's clock, and proxies.
extension Connection: ConversationHost {
    typealias Waiter = AnswerWaiter
    typealias RoomWaiter = OneWayWaiter
    typealias RunningCall = ServedCall
    typealias Proxy = DistantObject

    var now: UInt64 { loop.now }

    var rootDirectory: (object: AnyObject, messages: Unmanaged<ClassMessages>) { (roots, ClassMessages.of(roots)) }

    func makeProxy(for id: ObjectID, of described: DescribedClass?) -> DistantObject {
        DistantObject(id, of: described, on: self)
    }

    static func describe(_ proxy: DistantObject, as described: DescribedClass) { proxy.place.describe(as: described) }

    func entry(of object: AnyObject) -> TableEntry {
        if let proxy = object as? DistantObject {
            guard let connection = proxy.place.connection else { return .foreign }
            guard connection.toOpaque() == Unmanaged.passUnretained(self).toOpaque() else { return .foreign }
            if case .answer(let ticket)? = proxy.place.promise { return .proxy(.answer(ticket)) }
            return .proxy(.object(proxy.place.id))
        }
        return entry(ofReader: object) ?? .own
    }

    var isServing: Bool {
        if let thread = ThreadTasks.current, let serving = thread.pointee.serving,
            serving.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        {
            return true
        }
        return Self.served == ObjectIdentifier(self)
    }

    /// The connection whose call the task serves, or the task that has made it.
    ///
    /// Unlike the scope, it is also known on the main actor and in a `Task` that the method makes.
    @TaskLocal static var served: ObjectIdentifier?

    var isQueueFull: Bool { channel.isFrameQueueFull }
    func hasRoom(forLargeMessage byteCount: Int) -> Bool { channel.hasMessageRoom(for: byteCount) }
    var unsentAnswers: Int { channel.unsentAnswers }
    var writtenAnswers: UInt64 { channel.writtenAnswers }
    func isWritten(_ number: UInt64) -> Bool { channel.isWritten(number) }
    func mayBeWritten(_ number: UInt64) -> Bool { channel.mayBeWritten(number) }
    func creditLargeMessages(_ byteCount: UInt64) -> MessageCredit { channel.messageCredit(byteCount) }

    var isPeerTrusted: Bool { channel.peer?.isOfThisUser == true }
    var hasSharedMemory: Bool { channel.hasSharedMemory }
}

extension Connection {
    /// Whether messages in both directions go through shared memory; see `Configuration.sharesMemory`.
    public var isInSharedMemory: Bool { state.withLock { $0.sharing.phase == .done } }
}
