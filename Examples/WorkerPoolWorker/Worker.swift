import DistantObjects
import WorkerPoolValues

/// Searches blocks of numbers; sent by reference.
final class Worker: Vendable, Implements {
    typealias I = WorkerInterface

    static var messages: MessageTable<Worker> {
        Message(\I.primes, Worker.primes)
    }

    /// The search runs while the pool reads the stream, and stops when the pool does.
    func primes(in block: Block) -> DistantStream<Int>.WithFinal<Tally> {
        DistantStream<Int>.WithFinal<Tally> { writer in
            var tally = Tally(found: 0)
            var number = block.first
            while number <= block.last ?? .max {
                if Self.isPrime(number) {
                    try await writer.send(number)
                    tally.found += 1
                }
                number += 1
            }
            return tally
        }
    }

    private static func isPrime(_ number: Int) -> Bool {
        guard number > 3 else { return number > 1 }
        var divisor = 2
        while divisor * divisor <= number {
            if number.isMultiple(of: divisor) { return false }
            divisor += 1
        }
        return true
    }
}
