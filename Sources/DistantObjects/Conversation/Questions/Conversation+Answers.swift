import KeyedArchive
import PortTransport

// Answers to calls of this side.
extension Conversation {
    mutating func receiveReturn(
        _ reader: inout WireReader, _ frame: borrowing InboundFrame, _ host: Host, _ actions: inout Actions<Host>
    ) throws(ProtocolViolation) {
        let header = try ReturnFrame(reading: &reader, flags: frame.ownFlags)
        let (status, question) = (header.status, header.question)
        let index = try questions.answered(question)
        guard !questions.isArriving(index) else {
            throw ProtocolViolation(.outOfStep, "a second Return to one question")
        }
        let tables = try readTables(&reader, host, &actions.others)
        try checkBody(of: frame, reader, tables, &actions.others)
        if status == .result, questions.promises > 0, questions.isPromise(index) {
            let isEmpty = frame.messageLength == nil && tables == nil && reader.isWithoutValue
            try checkPromised(index, isEmpty: isEmpty)
        }
        if frame.messageLength != nil {
            questions.setArriving(index)
            begin(PartialMessage(purpose: .reply(question: question, status, tables), of: frame), frame)
            return
        }
        if tables == nil, questions.promiseAnswered(index) { return }
        let body = frame.retain(reader.offset..<frame.bytes.count)
        complete(index, with: Reply(status: status, body: body, largeBytes: 0, tables: tables), &actions)
    }

    /// Checks the Return of a promise that has not failed.
    private mutating func checkPromised(_ index: UInt32, isEmpty: Bool) throws(ProtocolViolation) {
        guard questions.isDropped(index) else {
            throw ProtocolViolation(.outOfStep, "the result of a promise was returned before the promise was dropped")
        }
        guard isEmpty else { throw ProtocolViolation(.malformed, "the Return of a promise has a value") }
    }

    mutating func complete(_ index: UInt32, with reply: consuming Reply, _ actions: inout Actions<Host>) {
        // The Return of a promise only says that the promise has failed, or that it was dropped.
        if questions.promiseAnswered(index) { return actions.append(.discard(reply)) }
        let (waiter, timer) = questions.finish(index)
        if let timer { actions.append(.cancelTimer(timer)) }
        if phase == .closing { actions.append(.closeIfIdle) }
        if reply.saysThatPeerCloses { ending.peerIsClosing = true }
        if let waiter {
            actions.append(answer: waiter, with: reply)
        } else {
            // The caller has given up; the answer's references are released.
            actions.append(.discard(reply))
        }
    }
}
