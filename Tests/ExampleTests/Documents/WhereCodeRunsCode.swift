// swift-format-ignore-file
// It is laid out as WhereCodeRuns.md shows it.

import DistantObjects
import Synchronization

/// The code of WhereCodeRuns.md.
enum WhereCodeRunsCode {
    // WhereCodeRuns.md: lock
    final class Journal: Vendable {
        private let lines = Mutex<[String]>([])

        static var messages: MessageTable<Journal> {
            Message("write", Journal.write)
            Message("lines", Journal.allLines)
        }

        func write(_ line: String) { lines.withLock { $0.append(line) } }
        func allLines() -> [String] { lines.withLock { $0 } }
    }
    // end

    // WhereCodeRuns.md: actor
    struct AccountInterface: Interface {
        let deposit = Signature<Int, Int>("deposit")
    }

    actor Account: Vendable, Implements {
        typealias I = AccountInterface
        private var balance = 0

        static var messages: MessageTable<Account> {
            Message(\I.deposit) { await $0.deposit($1) }
        }

        func deposit(_ amount: Int) -> Int {
            balance += amount
            return balance
        }
    }
    // end

    // WhereCodeRuns.md: global actor
    @globalActor actor BookActor {
        static let shared = BookActor()
    }

    @BookActor
    final class Ledger: Vendable {
        private var entries = 0

        static var messages: MessageTable<Ledger> {
            Message("enter") { await $0.enter($1) }
        }

        nonisolated init() {}

        func enter(_ count: Int) -> Int {
            entries += count
            return entries
        }
    }
    // end

    final class Branch: Vendable, Implements {
        typealias I = AccountInterface
        private let account: Remote<AccountInterface>

        init(_ account: Remote<AccountInterface>) { self.account = account }

        static var messages: MessageTable<Branch> { Message("deposit", Branch.deposit) }

        // WhereCodeRuns.md: tail
        func deposit(_ amount: Int) -> TailCall<Int> { account.deposit.tailCall(amount) }
        // end
    }

    static func trace(_ account: Remote<AccountInterface>, _ id: String) async throws -> Int {
        // WhereCodeRuns.md: metadata
        let balance = try await CallContext.with(metadata: ["trace": id]) {
            try await account.deposit(1)
        }
        // end
        return balance
    }

    static func run(_ account: Remote<AccountInterface>, over connection: Connection) async throws -> Int {
        // WhereCodeRuns.md: run
        let balance = try await connection.run {
            var balance = 0
            for amount in 1...100 { balance = try await account.deposit(amount) }
            return balance
        }
        // end
        return balance
    }

    static func block(_ path: String) throws -> Int {
        // WhereCodeRuns.md: blocking
        let connection = try Connection.blockingOpen(.path(path))
        let account = try connection.blockingRoot(as: AccountInterface.self)
        let balance = try account.deposit.blocking(5)
        try connection.blockingClose()
        // end
        return balance
    }

    static func wait(_ account: Remote<AccountInterface>) async throws -> Int {
        // WhereCodeRuns.md: deadline
        let balance = try await account.deposit(5, timeout: .seconds(2))
        // end
        return balance
    }
}
