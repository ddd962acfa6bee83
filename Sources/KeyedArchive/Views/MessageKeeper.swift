/// Counts the memory of messages that views keep: the `codingOwner` of a decoder whose messages are counted.
package protocol MessageKeeper: AnyObject {
    /// Enters the bytes of a message that a view is about to keep.
    ///
    /// - Returns: What the views hold until the last of them is freed.
    /// - Throws: If views keep too much already.
    func keep(bytes count: Int) throws -> AnyObject
}
