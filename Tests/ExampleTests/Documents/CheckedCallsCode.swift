// swift-format-ignore-file
// It is laid out as CheckedCalls.md shows it.

import DistantObjects
import Synchronization

/// The code of CheckedCalls.md.
enum CheckedCallsCode {
    // CheckedCalls.md: interfaces
    struct AccountInterface: Interface {
        let balance = Signature<Int>("balance")
        let deposit = Signature<Int, Int>("deposit")
        let close = Signature<Void>("close", since: 2)
    }

    struct BankInterface: Interface {
        let open = Signature<Remote<AccountInterface>, String>("open")
        let find = Signature<Remote<AccountInterface>?, String>("find")
        let watch = Signature<Void, Remote<ObserverInterface>>("watch")
    }

    struct ObserverInterface: Interface {
        let opened = Signature<Void, String>("opened")
    }
    // end

    final class Account: Vendable, Implements {
        typealias I = AccountInterface
        private let cents = Mutex(0)

        static var messages: MessageTable<Account> {
            Message(\I.balance, Account.balance)
            Message(\I.deposit, Account.deposit)
            Message(\I.close, Account.close)
        }

        func balance() -> Int { cents.withLock { $0 } }
        func close() { cents.withLock { $0 = 0 } }

        func deposit(_ amount: Int) -> Int {
            cents.withLock { cents in
                cents += amount
                return cents
            }
        }
    }

    // CheckedCalls.md: bank
    final class Bank: Vendable, Implements {
        typealias I = BankInterface

        static var messages: MessageTable<Bank> {
            Message(\I.open, Bank.open)
            Message(\I.find, Bank.find)
            Message(\I.watch, Bank.watch)
        }

        func open(_ owner: String) async throws -> Account {
            let (account, observer) = state.withLock { state in
                let account = Account()
                state.accounts[owner] = account
                return (account, state.observer)
            }
            try await observer?.opened(owner)
            return account
        }

        func find(_ owner: String) -> Account? { state.withLock { $0.accounts[owner] } }
        func watch(_ observer: Remote<ObserverInterface>) { state.withLock { $0.observer = observer } }
        // end

        var count: Int { state.withLock { $0.accounts.count } }

        private struct State {
            var accounts: [String: Account] = [:]
            var observer: Remote<ObserverInterface>?
        }

        private let state = Mutex(State())
    // CheckedCalls.md: bank
    }
    // end

    // CheckedCalls.md: extending
    struct AuditedBankInterface: Extending {
        typealias Base = BankInterface
        let audit = Signature<Int>("audit")
    }
    // end

    // CheckedCalls.md: implementing
    final class AuditedBank: Vendable, Implements {
        typealias I = AuditedBankInterface
        private let bank = Bank()

        static var messages: MessageTable<AuditedBank> {
            Message(\I.Base.open) { Remote(vending: try await $0.bank.open($1)) }
            Message(\I.Base.find) { $0.bank.find($1).map { Remote(vending: $0) } }
            Message(\I.Base.watch) { $0.bank.watch($1) }
            Message(\I.audit, AuditedBank.audit)
        }

        func audit() -> Int { bank.count }
    }
    // end

    // CheckedCalls.md: subclass
    class Shop: Vendable, @unchecked Sendable {
        class var messages: MessageTable<Shop> {
            Message("price", Shop.price)
        }

        func price() -> Int { 3 }
    }

    final class Bakery: Shop, @unchecked Sendable {
        override class var messages: MessageTable<Shop> {
            super.messages.extended(
                by: MessageTable<Bakery> {
                    Message("bake", Bakery.bake)
                    Message("loaves", Bakery.loaves)
                })
        }

        private let baked = Mutex(0)
        func bake(_ count: Int) { baked.withLock { $0 += count } }
        func loaves() -> Int { baked.withLock { $0 } }
    }
    // end

    static func call(_ connection: Connection) async throws -> [Int] {
        // CheckedCalls.md: call
        let bank = try await connection.root(as: BankInterface.self)
        let account = try await bank.open("Ada")
        let balance = try await account.deposit(5)
        try await account.deposit.oneWay(7)
        let later = try await account.balance(timeout: .seconds(10))
        // end
        return [balance, later]
    }

    static func promise(_ connection: Connection) async throws -> Int {
        let bank = try await connection.root(as: BankInterface.self)
        // CheckedCalls.md: promise
        let account = bank.open.promise("Grace")
        try await account.deposit.oneWay(5)
        let balance = try await account.balance()
        // end
        return balance
    }

    static func callLocal() async throws -> Int {
        // CheckedCalls.md: local
        let bank = Remote<BankInterface>(local: Bank())
        let account = try await bank.open("Ada")
        // end
        return try await account.deposit(1)
    }

    static func callDynamically(_ connection: Connection) async throws -> Int {
        // CheckedCalls.md: without
        let bank = try await connection.root
        let account: DistantObject = try await bank.open("Ada")
        let balance: Int = try await account.deposit(5)
        // end
        return balance
    }
}
