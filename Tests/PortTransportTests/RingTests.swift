import TestSupport
import Testing

@_spi(Queues) @testable import PortTransport

@Suite("Queues in rings", .bounded())
struct RingTests {
    /// An element that counts how many there are.
    private final class Element {
        let number: Int
        private let living: Living

        init(_ number: Int, _ living: Living) {
            self.number = number
            self.living = living
            living.count += 1
        }

        deinit { living.count -= 1 }
    }

    private final class Living {
        var count = 0
    }

    @Test("A queue does what an array does, and frees each element once", arguments: 0..<20 as Range<UInt64>)
    func model(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let living = Living()
        var model: [Int] = []
        do {
            var ring = Ring<Element>()
            for number in 0..<2_000 {
                // It grows for a while, then shrinks.
                switch Int.random(in: 0..<100, using: &random) {
                case 0..<(number / 500 % 2 == 0 ? 60 : 40):
                    ring.append(Element(number, living))
                    model.append(number)
                case ..<94:
                    let first = ring.first?.number
                    #expect(first == model.first)
                    let removed = ring.popFirst()?.number
                    #expect(removed == (model.isEmpty ? nil : model.removeFirst()))
                case ..<98:
                    let wanted = model.randomElement(using: &random)
                    let removed = ring.removeFirst { $0.number == wanted }?.number
                    #expect(removed == wanted)
                    model.removeAll { $0 == wanted }
                case 98:
                    let all = ring.removeAll().map(\.number)
                    #expect(all == model)
                    model = []
                default:
                    ring.removeAll(keeping: 16)
                    model = []
                }
                let numbers = (0..<ring.count).map { ring[$0].number }
                #expect(numbers == model)
                #expect(living.count == model.count)
            }
        }
        #expect(living.count == 0)
    }
}
