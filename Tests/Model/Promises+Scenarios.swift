extension Promises.Scenario {
    typealias Call = Promises.Call

    static let all = [
        numbers(.theirs), numbers(.fails), order, loopBack, needed, endlessChain, endlessMessage, sameObject,
    ]

    /// Numbers are used again while Drop and Return cross.
    private static func numbers(_ outcome: Promises.Outcome) -> Self {
        Self(
            calls: [
                Call(target: .root, kind: .promise(outcome)), Call(target: .root, kind: .promise(outcome)),
                Call(target: .root),
            ],
            threads: [[.send(0), .drop(0)], [.send(1), .drop(1)], [.send(2)]])
    }

    /// Messages before and after the answer is known, and then to the object itself.
    private static let order = Self(
        calls: [
            Call(target: .root, kind: .promise(.theirs)), Call(target: .answer(0), kind: .oneWay),
            Call(target: .answer(0), after: [1]), Call(target: .answer(0), kind: .marker, after: [1, 2]),
            Call(target: .object, after: [1, 2]), Call(target: .object),
        ],
        threads: [[.send(0), .send(1), .send(2), .send(3), .direct(4, marker: 3), .drop(0)], [.send(5)]])

    /// The answer is the caller's own object, to which the messages come back.
    private static let loopBack = Self(
        calls: [
            Call(target: .root, kind: .promise(.ours)), Call(target: .answer(0)),
            Call(target: .answer(0), kind: .marker, after: [1]), Call(target: .answer(0), after: [1]),
            Call(target: .answer(0), after: [1]), Call(target: .answer(0), after: [1, 3]),
        ],
        threads: [[.send(0), .send(1), .send(2), .send(3), .direct(4, marker: 2), .send(5), .drop(0)]])

    /// Promises that are dropped while messages wait that have them as arguments, one behind the other.
    private static let needed = Self(
        calls: [
            Call(target: .root, kind: .promise(.theirs)), Call(target: .root, kind: .promise(.theirs)),
            Call(target: .object, argument: 0), Call(target: .object, argument: 1, after: [2]),
        ],
        threads: [[.send(0), .send(1), .send(2), .send(3), .drop(0)], [.drop(1)]])

    /// A method that nobody wants any more, with a promise of its result's result.
    private static let endlessChain = Self(
        calls: [
            Call(target: .root, kind: .promise(.endless)), Call(target: .answer(0), kind: .promise(.theirs)),
        ],
        threads: [[.send(0), .send(1), .drop(0)], [.drop(1)]])

    /// A method that nobody wants any more, once the message that waits for it is cancelled.
    private static let endlessMessage = Self(
        calls: [Call(target: .root, kind: .promise(.endless)), Call(target: .answer(0))],
        threads: [[.send(0), .send(1), .drop(0)], [.cancel(1)]])

    /// A message to an object has the result of another one to the same object as its argument, which is sent to a promise.
    private static let sameObject = Self(
        calls: [
            Call(target: .root, kind: .promise(.theirs)), Call(target: .answer(0), kind: .promise(.theirs)),
            Call(target: .object, argument: 1),
        ],
        threads: [[.send(0), .send(1), .send(2), .drop(0), .drop(1)]], credit: 3)
}
