/// A first-in, first-out queue.
///
/// Appending and removing are O(1) amortised. A new queue owns no memory.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var count: Int { elements.count - head }
    var first: Element? { head < elements.count ? elements[head] : nil }

    mutating func append(_ element: consuming Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        // Most queues have at most one element.
        if head + 1 == elements.count, head == 0 { return elements.removeLast() }
        // Swapped out, so that the element is not retained.
        var element: Element?
        swap(&element, &elements[head])
        head += 1
        if head == elements.count {
            // A queue that was long must not keep its memory on an idle connection.
            elements.removeAll(keepingCapacity: head <= 64)
            head = 0
        } else if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func removeFirst(where matches: (Element) -> Bool) -> Element? {
        for index in head..<elements.count {
            guard let element = elements[index], matches(element) else { continue }
            elements.remove(at: index)
            return element
        }
        return nil
    }

    mutating func removeAll() -> [Element] {
        let rest = elements[head...].compactMap { $0 }
        elements = []
        head = 0
        return rest
    }
}
