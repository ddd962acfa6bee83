// Releases of references, in both directions.
extension Conversation {
    mutating func receive(
        _ frame: ReleaseFrame, _ actions: inout [Action<Host>]
    ) throws(ProtocolViolation) {
        guard frame.entered <= sent else {
            throw ProtocolViolation(.unknownName, "a Release names a frame that was never sent")
        }
        try frame.forEachObject { (id) throws(ProtocolViolation) in
            if let freed = try exports.release(id, entered: frame.entered) { actions.append(.unexport(freed)) }
        }
    }

    /// Writes Release frames for objects of the peer that this side no longer refers to.
    mutating func writeReleases(_ dead: DyingReferences) {
        guard phase != .ended, let first = dead.first else { return }
        if dead.rest.isEmpty {
            if imports.releaseOne(first) { writeRelease(of: CollectionOfOne(first)) }
            return
        }
        var rest = ([first] + dead.rest)[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(ProtocolLimits.referencesInMessage)
            rest = rest.dropFirst(chunk.count)
            let released = chunk.filter { imports.releaseOne($0) }
            if !released.isEmpty { writeRelease(of: released) }
        }
    }

    /// Writes the `Release` of some objects.
    ///
    /// The watermark and the ids of a frame belong together: no frame is entered between reading the two.
    private mutating func writeRelease(of objects: some Collection<ObjectID>) {
        ReleaseFrame.append(entered: entered, objects, to: &outbox)
        outbox.finish(.release)
    }
}
