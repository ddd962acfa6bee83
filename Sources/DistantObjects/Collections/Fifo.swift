/// A queue: what was appended first comes out first.
///
/// Appending and taking are O(1) amortised; empty it owns no memory.
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
        // Nearly always there is one, or none.
        if head + 1 == elements.count, head == 0 { return elements.removeLast() }
        // Swapped out, not copied: the element's count is not touched.
        var element: Element?
        swap(&element, &elements[head])
        head += 1
        if head == elements.count {
            // A queue that was long once must not hold the memory of an idle connection.
            elements.removeAll(keepingCapacity: head <= 64)
            head = 0
        } else if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// As `popFirst`, if the first one is as it should be.
    mutating func popFirst(where matches: (Element) -> Bool) -> Element? {
        guard head < elements.count, let first = elements[head], matches(first) else { return nil }
        return popFirst()
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
